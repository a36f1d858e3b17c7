import type { CommandFacts } from './command-facts.ts';
import { everyCommand } from './command-facts.ts';
import { placeOf, takesValue, topWords } from './completion-places.ts';
import { valuesOf, wordsOf } from './known-words.ts';

/**
 * Completion for bash (3.2 and later). The script walks over the words to find out which command is being written; where it
 * has no word to offer, bash offers files.
 */
export function bashCompletion(gw: CommandFacts): string {
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
${commands.flatMap(valueCases).join('\n')}
    esac
    case "$place" in
${commands.map(wordCase).join('\n')}
    esac
}
complete -o default -F _gw gw
`;
}

/** What stands behind an option that takes a value. */
function valueCases(command: CommandFacts): readonly string[] {
  return command.options.flatMap((option) => {
    const values = valuesOf(command, option);
    if (values === undefined || option.value?.isRequired !== true) return [];
    const patterns = alternatives(option.names.map((name) => `${placeOf(command)}|${name}`));
    return `        ${patterns}) ${typeof values === 'string' ? '' : `${offer(values)}; `}return ;;`;
  });
}

/** Commands and arguments, or options behind a dash. */
function wordCase(command: CommandFacts): string {
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
