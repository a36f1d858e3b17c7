import {
  type DirectiveNode,
  edited,
  formatConfig,
  outlineOf,
  type Source,
  type TextEdit,
} from '../../grammar/index.ts';
import { faultsOf } from './draft.ts';

/** The beginnings of directive names in nginz and in gw; the rest of the names is the same. */
const PREFIXES = [
  ['pgrest_', 'dbrest_'],
  ['redis_', 'kv_'],
] as const;

const VARIABLE = /\$(\{?)redis_(last_value|last_exists|last_error|connection_state)\b/g;

/** Faults of directives that gw does not have. Other faults depend on the machine or are the author's. */
const UNKNOWN = /^unknown directive "|^"\w+" directive is not supported$/;

/** A configuration in the words of gw. */
interface Translation {
  readonly text: string;
  /** Directives that gw does not have. They are kept: without one that denies requests, these would be served. */
  readonly left: readonly string[];
}

/** Tells whether a text looks like a configuration of nginz. */
export function isNginz(text: string): boolean {
  return /^\s*(?:pgrest_\w+|redis_command|redis_key|echozn?)\s/m.test(text);
}

/** Translates the directives of nginz that gw has under another name. */
export function translateNginz(source: Source): Translation {
  const renamed = edited(source.text, renames(outlineOf(source, () => false)));
  const text = formatConfig({ name: source.name, text: renamed }, { indent: '    ' });
  return { text, left: unknownIn(text) };
}

function renames(nodes: readonly DirectiveNode[]): readonly TextEdit[] {
  return nodes.flatMap(({ name, args, block = [] }) => {
    const prefix = PREFIXES.find(([theirs]) => name.value.startsWith(theirs));
    const words = args.map(({ span }): TextEdit => {
      const text = span.source.text.slice(span.start, span.end);
      return { span, text: text.replace(VARIABLE, '$$$1kv_$2') };
    });
    if (!prefix) return [...words, ...renames(block)];
    const [theirs, ours] = prefix;
    return [{ span: name.span, text: ours + name.value.slice(theirs.length) }, ...words, ...renames(block)];
  });
}

function unknownIn(text: string): readonly string[] {
  // Faults in included files are left out.
  const here = faultsOf(text).flatMap(({ span, message }) =>
    span?.source.text === text && UNKNOWN.test(message) ? [span] : [],
  );
  return [...new Set(here.map(({ start, end }) => text.slice(start, end)))];
}
