import type { BlockView } from '../../config/index.ts';
import type { LocationMatch } from '../../contract/index.ts';
import { not } from '../regex/index.ts';
import type { Machine, Patterns, RegexUse } from '../regex/index.ts';
import { isPath } from './built-in.ts';
import { ifBlocks } from './if-blocks.ts';
import type { Conditions } from './matched.ts';
import type { Site } from './site.ts';

/** What the blocks around a place let a variable be. */
export class Constraints {
  readonly #patterns: Patterns;
  readonly #conditions: Conditions;

  constructor(patterns: Patterns, conditions: Conditions) {
    this.#patterns = patterns;
    this.#conditions = conditions;
  }

  /** `undefined`: something narrows it in a way that is not known. */
  on(variable: string, { block, known }: Site): readonly Machine[] | undefined {
    const machines: Machine[] = [...(known?.get(variable) ?? [])];
    for (const around of block.outward()) {
      const own = [...this.#ofBlock(variable, around), ...this.#ofGuards(variable, around, block)];
      for (const machine of own) {
        if (!machine) return undefined;
        machines.push(machine);
      }
    }
    return machines;
  }

  /** The texts that are exactly this one. */
  exactly(text: string): Machine | undefined {
    return this.#patterns.of(`\\A\\Q${text.replaceAll('\\E', '')}\\E\\z`, false)?.language;
  }

  #ofBlock(variable: string, block: BlockView): (Machine | undefined)[] {
    const condition = this.#conditions.of(block);
    if (block.context === 'location') {
      // Where they come from is up to those who send requests on.
      if (block.own('internal').length > 0) return [undefined];
      return isPath(variable) ? this.#ofLocation(block.args as LocationMatch | undefined, condition) : [];
    }
    if (condition?.subject !== undefined && isSame(condition.subject, variable))
      return [machineOf(condition, condition.negated !== true)];
    const equal = /^\(?\$\{?(\w+)\}?$/.exec(block.node?.args[0]?.value ?? '');
    const [, operator, operand] = block.node?.args ?? [];
    if (equal?.[1]?.toLowerCase() !== variable || operator?.value !== '=' || !operand) return [];
    return [operand.value.includes('$') ? undefined : this.exactly(operand.value.replace(/\)$/, ''))];
  }

  #ofLocation(match: LocationMatch | undefined, condition: RegexUse | undefined): (Machine | undefined)[] {
    if (match?.kind === 'exact') return [this.exactly(match.path)];
    return match?.kind === 'regex' ? [condition?.pattern.language] : [];
  }

  /** `if ($x ~ …) { return 403; }` beside or above the place: what comes here is what did not match. */
  #ofGuards(variable: string, around: BlockView, place: BlockView): (Machine | undefined)[] {
    const ways = [...place.outward()];
    return ifBlocks(around).flatMap((inner) => {
      const condition = this.#conditions.of(inner);
      if (!condition || ways.includes(inner)) return [];
      if (inner.own('return').length === 0) return [];
      if (isPath(variable) && refusesEscapes(condition))
        return [this.#patterns.of('^[^\\n\\r]*\\z', false)?.language];
      if (condition.subject === undefined || !isSame(condition.subject, variable)) return [];
      return [machineOf(condition, condition.negated === true)];
    });
  }
}

/** Line breaks come escaped: who refuses the escapes has none in the path. */
function refusesEscapes({ subject, negated, pattern }: RegexUse): boolean {
  const escapes = ['/%0a', '/%0A'];
  return subject === 'request_uri' && !negated && escapes.every((uri) => pattern.regex.test(uri));
}

/** Two names of the path are one. */
function isSame(subject: string, variable: string): boolean {
  return subject === variable || (isPath(subject) && isPath(variable));
}

function machineOf({ pattern }: RegexUse, isMatched: boolean): Machine | undefined {
  const { language } = pattern;
  return language && (isMatched ? language : not(language));
}
