import type { CommandFacts } from './command-facts.ts';
import { everyCommand } from './command-facts.ts';
import { placeOf, takesValue, topWords } from './completion-places.ts';
import { valuesOf, wordsOf } from './known-words.ts';

/** Completion for zsh, to be put as `_gw` into a directory of `fpath`, or sourced. */
export function zshCompletion(gw: CommandFacts): string {
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
${commands.flatMap(valueCases).join('\n')}
    esac
    if [[ \${words[CURRENT]} == -* ]]; then
        case "$place" in
${commands.map(optionCase).join('\n')}
        esac
        _describe option choices
        return
    fi
    case "$place" in
${commands.map(wordCase).join('\n')}
    esac
}
if [[ \${funcstack[1]} == _gw ]]; then _gw "$@"; else compdef _gw gw; fi
`;
}

function valueCases(command: CommandFacts): readonly string[] {
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

function wordCase(command: CommandFacts): string {
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

/** `name:what it is for`, in quotes. */
function item(name: string, summary: string): string {
  return `'${name}:${summary.replaceAll("'", `'\\''`)}'`;
}

function alternatives(patterns: readonly string[]): string {
  return patterns.map((pattern) => `'${pattern}'`).join('|');
}
