import type { CommandFacts, OptionFacts } from './command-facts.ts';
import { everyCommand } from './command-facts.ts';
import { placeOf, takesValue, topWords } from './completion-places.ts';
import { valuesOf, wordsOf } from './known-words.ts';

/** Completion for fish, to be put as `gw.fish` among its completions, or sourced. */
export function fishCompletion(gw: CommandFacts): string {
  const commands = [...everyCommand(gw)];
  const places = commands.map(placeOf).filter((place) => place !== '');
  return `# Completion of gw for fish. Written by: gw completion fish
function __gw_at --description 'Whether this command is being written'
    set -l place ''
    set -l previous ''
    for word in (commandline -opc)[2..-1]
        switch "$place|$previous"
            case ${quotedList(commands.flatMap(takesValue))}
                set previous ''
                continue
        end
        set previous $word
        switch "$place/$word"
            case ${quotedList(places)}
                set place "$place/$word"
        end
    end
    test "$place" = "$argv[1]"
end
complete --command gw --erase
${commands.flatMap(lines).join('\n')}
`;
}

function lines(command: CommandFacts): readonly string[] {
  const start = `complete --command gw --condition ${quoted(`__gw_at '${placeOf(command)}'`)}`;
  const { commands, arguments: values } = command;
  const below = commands.map(
    ({ path, summary }) => `${start} --no-files --arguments ${path.at(-1)} --description ${quoted(summary)}`,
  );
  const words = commands.length > 0 ? [] : topWords(command, wordsOf);
  const isFile = values.some((value) => wordsOf(command, value) === 'file');
  return [
    ...below,
    ...(words.length > 0 ? [`${start} --no-files --arguments ${quoted(words.join(' '))}`] : []),
    ...(commands.length === 0 && words.length === 0 && !isFile ? [`${start} --no-files`] : []),
    ...command.options.map((option) => `${start} ${optionWords(command, option)}`),
  ];
}

function optionWords(command: CommandFacts, option: OptionFacts): string {
  const names = option.names.map((name) =>
    name.startsWith('--') ? `--long-option ${name.slice(2)}` : `--short-option ${quoted(name.slice(1))}`,
  );
  const values = valuesOf(command, option);
  const isRequired = option.value?.isRequired === true;
  const kind =
    !isRequired || values === undefined
      ? []
      : values === 'file'
        ? ['--require-parameter', '--force-files']
        : ['--exclusive', ...(typeof values === 'string' ? [] : [`--arguments ${quoted(values.join(' '))}`])];
  return [...names, ...kind, `--description ${quoted(option.summary)}`].join(' ');
}

function quotedList(words: readonly string[]): string {
  return words.map(quoted).join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
