import type { RegexConfig } from '../contract/index.ts';
import { compileRegex, type Exchange } from '../http/index.ts';
import type { VariablePlan } from '../plan/index.ts';

/** The named captures of a regex, and the slots that they fill. */
export type Captures = readonly (readonly [name: string, slot: number])[];

/** Whether a text matches; if so, the captures become the request's. */
export type Matcher = (x: Exchange, text: string) => boolean;

/** The slots that the named captures of a regex fill. */
export function capturesOf({ names }: Pick<RegexConfig, 'names'>, { slots }: VariablePlan): Captures {
  return names.map((name) => [name, slots[name.toLowerCase()] as number] as const);
}

/** Gives `$1` … `$9` and named captures to the request; a group that took no part is empty. */
export function keepCaptures(x: Exchange, captures: RegExpExecArray, slots: Captures): void {
  x.captures = captures;
  for (const [name, slot] of slots) (x.slots ??= [])[slot] = captures.groups?.[name] ?? '';
}

/** One closure per regex of the plan, whatever the number of locations that use it. */
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
