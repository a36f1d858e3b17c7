import { RULES } from '../../src/check/index.ts';
import { directives, MODULE_NAMES } from '../../src/lookups.ts';
import { exampleNames } from '../examples.ts';
import type { CommandFacts, OptionFacts, ValueFacts } from './command-facts.ts';

/** What can stand in the place of a word: one of some, a file, or anything. */
export type Completions = readonly string[] | 'file' | 'anything';

/** Arguments of commands, by command; values of options by command and option. */
const WORDS: Readonly<Record<string, () => readonly string[]>> = {
  why: () => [...new Set([...directives().map(({ name }) => name), ...ruleNames()])].sort(),
  example: () => exampleNames(),
  'list-modules --module': () => MODULE_NAMES,
  'list-directives --module': () => MODULE_NAMES,
  'list-variables --module': () => MODULE_NAMES,
  'check --select': ruleNames,
  'check --ignore': ruleNames,
};

function ruleNames(): readonly string[] {
  return RULES.flatMap(({ id, slug }) => [id, slug]);
}

/** What an argument of a command can be. */
export function wordsOf({ path }: CommandFacts, value: ValueFacts): Completions {
  return value.choices ?? WORDS[path.join(' ')]?.() ?? kindOf(value);
}

/** What the value of an option can be; `undefined`: it has none. */
export function valuesOf({ path }: CommandFacts, { names, value }: OptionFacts): Completions | undefined {
  return value && (value.choices ?? WORDS[`${path.join(' ')} ${names.at(-1)}`]?.() ?? kindOf(value));
}

function kindOf({ name }: ValueFacts): 'file' | 'anything' {
  return /^(?:files?|filename|directory|prefix)$/.test(name) ? 'file' : 'anything';
}
