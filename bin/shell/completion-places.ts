import type { CommandFacts, ValueFacts } from './command-facts.ts';
import type { Completions } from './known-words.ts';

/** A command as the scripts name it: `/jwt/sign`, '' for gw itself. */
export function placeOf({ path }: Pick<CommandFacts, 'path'>): string {
  return path.map((name) => `/${name}`).join('');
}

/** Place and name of each option whose value is the next word: `/jwt/sign|--role`. */
export function takesValue(command: CommandFacts): readonly string[] {
  return command.options
    .filter(({ value }) => value?.isRequired === true)
    .flatMap(({ names }) => names.map((name) => `${placeOf(command)}|${name}`));
}

/** What can be written behind a command: those below it with their help, or words that its arguments can be. */
export function topWords(
  command: CommandFacts,
  wordsOf: (command: CommandFacts, value: ValueFacts) => Completions,
): readonly string[] {
  const names = command.commands.map(({ path }) => path.at(-1) as string);
  if (names.length > 0) return [...new Set([...names, 'help'])];
  return command.arguments.flatMap((value) => {
    const words = wordsOf(command, value);
    return typeof words === 'string' ? [] : words;
  });
}
