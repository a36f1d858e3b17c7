import type { Command } from 'commander';
import { directives, MODULE_NAMES } from '../../src/tools/lookups.ts';
import { type Catalogue, ruleCatalogue } from '../../src/pipeline.ts';
import { exampleNames } from '../examples.ts';
import {
  type CommandFacts,
  everyCommand,
  type OptionFacts,
  type ValueFacts,
  wholeFacts,
} from './command-facts.ts';

let rules: Catalogue['rules'];

/** The possible values of a word: one of a list, a file, or anything. */
type Completions = readonly string[] | 'file' | 'anything';

/** Values of arguments by command, and of options by command and option. */
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
  return rules.flatMap(({ id, slug }) => [id, slug]);
}

function wordsOf({ path }: CommandFacts, value: ValueFacts): Completions {
  return value.choices ?? WORDS[path.join(' ')]?.() ?? kindOf(value);
}

/** Returns the possible values of an option; `undefined` if it takes none. */
function valuesOf({ path }: CommandFacts, { names, value }: OptionFacts): Completions | undefined {
  return value && (value.choices ?? WORDS[`${path.join(' ')} ${names.at(-1)}`]?.() ?? kindOf(value));
}

function kindOf({ name }: ValueFacts): 'file' | 'anything' {
  return /^(?:files?|filename|directory|prefix)$/.test(name) ? 'file' : 'anything';
}

/** Returns the name of a command in the scripts: `/jwt/sign`, '' for gw itself. */
function placeOf({ path }: Pick<CommandFacts, 'path'>): string {
  return path.map((name) => `/${name}`).join('');
}

/** Returns the options whose value is the next word, as `/jwt/sign|--role`. */
function takesValue(command: CommandFacts): readonly string[] {
  return command.options
    .filter(({ value }) => value?.isRequired === true)
    .flatMap(({ names }) => names.map((name) => `${placeOf(command)}|${name}`));
}

/** Returns the words that can follow a command: subcommands with their summaries, or values of arguments. */
function topWords(
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

/**
 * Returns the completion script for bash (3.2 and later). It walks over the words to find the command being written;
 * where it has no word to offer, bash offers files.
 */
function bashCompletion(gw: CommandFacts): string {
  const commands = [...everyCommand(gw)];
  const places = commands.map(placeOf).filter((place) => place !== '');
  return `# Completion of gw for bash. Written by: gw completion bash
_gw() {
    local IFS=$' \\t\\n' at word place='' previous='' current=\${COMP_WORDS[COMP_CWORD]}
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=\${COMP_WORDS[at]}
        case "$place|$previous" in
            ${alternatives(commands.flatMap(takesValue))}) previous=''; continue ;;
        esac
        previous=$word
        case "$place/$word" in
            ${alternatives(places)}) place=$place/$word ;;
        esac
    done
    COMPREPLY=()
    case "$place|$previous" in
${commands.flatMap(compgenCases).join('\n')}
    esac
    case "$place" in
${commands.map(compreplyCase).join('\n')}
    esac
}
complete -o default -F _gw gw
`;
}

/** Returns the cases for values of options. */
function compgenCases(command: CommandFacts): readonly string[] {
  return command.options.flatMap((option) => {
    const values = valuesOf(command, option);
    if (values === undefined || option.value?.isRequired !== true) return [];
    const patterns = alternatives(option.names.map((name) => `${placeOf(command)}|${name}`));
    return `        ${patterns}) ${typeof values === 'string' ? '' : `${offer(values)}; `}return ;;`;
  });
}

/** Returns the case for commands and arguments, or for options after a dash. */
function compreplyCase(command: CommandFacts): string {
  const options = offer(command.options.flatMap(({ names }) => names));
  const words = topWords(command, wordsOf);
  const otherwise = words.length === 0 ? ':' : offer(words);
  return `        '${placeOf(command)}') if [[ $current == -* ]]; then ${options}; else ${otherwise}; fi ;;`;
}

function offer(words: readonly string[]): string {
  return `COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$current"))`;
}

function alternatives(patterns: readonly string[]): string {
  return patterns.map((pattern) => `'${pattern}'`).join('|');
}

/** Returns the completion script for zsh, to be installed as `_gw` in a directory of `fpath`, or sourced. */
function zshCompletion(gw: CommandFacts): string {
  const commands = [...everyCommand(gw)];
  const places = commands.map(placeOf).filter((place) => place !== '');
  return `#compdef gw
# Completion of gw for zsh. Written by: gw completion zsh
_gw() {
    local word place='' previous=''
    local -a choices
    integer at
    for ((at = 2; at < CURRENT; at++)); do
        word=\${words[at]}
        case "$place|$previous" in
            (${alternatives(commands.flatMap(takesValue))}) previous=''; continue ;;
        esac
        previous=$word
        case "$place/$word" in
            (${alternatives(places)}) place=$place/$word ;;
        esac
    done
    case "$place|$previous" in
${commands.flatMap(compaddCases).join('\n')}
    esac
    if [[ \${words[CURRENT]} == -* ]]; then
        case "$place" in
${commands.map(optionCase).join('\n')}
        esac
        _describe option choices
        return
    fi
    case "$place" in
${commands.map(choicesCase).join('\n')}
    esac
}
if [[ \${funcstack[1]} == _gw ]]; then _gw "$@"; else compdef _gw gw; fi
`;
}

function compaddCases(command: CommandFacts): readonly string[] {
  return command.options.flatMap((option) => {
    const values = valuesOf(command, option);
    if (values === undefined || option.value?.isRequired !== true) return [];
    const patterns = alternatives(option.names.map((name) => `${placeOf(command)}|${name}`));
    const act =
      values === 'file' ? '_files; ' : typeof values === 'string' ? '' : `compadd -- ${values.join(' ')}; `;
    return `        (${patterns}) ${act}return ;;`;
  });
}

function optionCase(command: CommandFacts): string {
  const items = command.options.flatMap(({ names, summary }) => names.map((name) => item(name, summary)));
  return `            ('${placeOf(command)}') choices=(${items.join(' ')}) ;;`;
}

function choicesCase(command: CommandFacts): string {
  const { commands } = command;
  const place = placeOf(command);
  if (commands.length > 0) {
    const items = commands.map(({ path, summary }) => item(path.at(-1) as string, summary));
    return `        ('${place}') choices=(${items.join(' ')}); _describe command choices ;;`;
  }
  const words = topWords(command, wordsOf);
  const isFile = command.arguments.some((value) => wordsOf(command, value) === 'file');
  const act = words.length > 0 ? `compadd -- ${words.join(' ')}` : isFile ? '_files' : ':';
  return `        ('${place}') ${act} ;;`;
}

/** `name:summary` in quotes. */
function item(name: string, summary: string): string {
  return `'${name}:${summary.replaceAll("'", `'\\''`)}'`;
}

/** Returns the completion script for fish, to be installed as `gw.fish` among its completions, or sourced. */
function fishCompletion(gw: CommandFacts): string {
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

const WRITERS: Readonly<Record<string, (gw: CommandFacts) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** `gw completion SHELL`: prints the completion script of a shell. */
export async function completion(shell: string, gw: Command): Promise<number> {
  ({ rules } = await ruleCatalogue());
  process.stdout.write((WRITERS[shell] as (gw: CommandFacts) => string)(wholeFacts(gw)));
  return 0;
}
