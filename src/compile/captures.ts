import type { RegexConfig } from '../contract/index.ts';
import { compileRegex, type Exchange } from '../http/index.ts';
import type { VariablePlan } from '../plan/index.ts';

/** The named captures of a regex with their slots. */
export type Captures = readonly (readonly [name: string, slot: number])[];

/** Tells whether a text matches. A match sets the request's captures. */
export type Matcher = (x: Exchange, text: string) => boolean;

/** Returns the named captures of a regex with their slots. */
export function capturesOf({ names }: Pick<RegexConfig, 'names'>, { slots }: VariablePlan): Captures {
  return names.map((name) => [name, slots[name.toLowerCase()] as number] as const);
}

/** Sets `$1` … `$9` and the named captures of a request. A group that did not match is empty. */
export function keepCaptures(x: Exchange, captures: RegExpExecArray, slots: Captures): void {
  x.captures = captures;
  for (const [name, slot] of slots) (x.slots ??= [])[slot] = captures.groups?.[name] ?? '';
}

/** The compiled regexes of a plan, one closure per regex, however many locations use it. */
export class Matchers {
  readonly #variables: VariablePlan;
  readonly #known = new Map<RegexConfig, Matcher>();

  constructor(variables: VariablePlan) {
    this.#variables = variables;
  }

  of(regex: RegexConfig): Matcher {
    const known = this.#known.get(regex) ?? this.#compile(regex);
    this.#known.set(regex, known);
    return known;
  }

  #compile(regex: RegexConfig): Matcher {
    const expression = compileRegex(regex);
    const slots = capturesOf(regex, this.#variables);
    return (x, text) => {
      const captures = expression.exec(text);
      if (captures) keepCaptures(x, captures, slots);
      return captures !== null;
    };
  }
}
