import { resolve } from 'node:path';
import {
  type DirectiveNode,
  edited,
  type Fault,
  formatConfig,
  lineOf,
  outlineOf,
  type Source,
  type TextEdit,
} from '../../grammar/index.ts';
import { load } from '../../src/pipeline.ts';

/** How the names of directives begin in nginz and in gw, which have the same words behind that. */
const PREFIXES = [
  ['pgrest_', 'dbrest_'],
  ['redis_', 'kv_'],
] as const;

const VARIABLE = /\$(\{?)redis_(last_value|last_exists|last_error|connection_state)\b/g;

/** Faults of directives that gw does not have. Others depend on the machine, or are the author's. */
const UNKNOWN = /^unknown directive "|^"\w+" directive is not supported$/;

/** A configuration in the words of gw. */
interface Translation {
  readonly text: string;
  /** Directives that gw does not have, which are comments now. */
  readonly commented: readonly string[];
  /** Blocks and parts of a line that stay as they are. */
  readonly left: readonly string[];
}

/** Whether a text looks like a configuration of nginz. */
export function isNginz(text: string): boolean {
  return /^\s*(?:pgrest_\w+|redis_command|redis_key|echozn?)\s/m.test(text);
}

/** Translates the directives of nginz that gw has under another name; what it does not have becomes a comment. */
export function translateNginz(source: Source): Translation {
  const renamed = edited(source.text, renames(outlineOf(source, () => false)));
  const { text, ...lists } = commentUnknown({ name: 'imported.conf', text: renamed });
  return { text: formatConfig({ name: source.name, text }, { indent: '    ' }), ...lists };
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

function commentUnknown(source: Source): Translation {
  const { report } = load({
    confFile: resolve(source.name),
    name: source.name,
    prefix: resolve('.'),
    text: source.text,
  });
  const nodes = flat(outlineOf(source, () => false));
  const [commented, left]: [string[], string[]] = [[], []];
  const edits: TextEdit[] = [];
  for (const fault of report.faults) {
    // What an included file holds is not part of this text.
    const isHere = fault.span?.source.text === source.text && UNKNOWN.test(fault.message);
    const node = isHere ? nodes.find(({ span }) => span.start === fault.span?.start) : undefined;
    if (!node) continue;
    const edit = commentOf(node, fault);
    if (edit) edits.push(edit);
    (edit ? commented : left).push(node.name.value);
  }
  return { text: edited(source.text, edits), commented: [...new Set(commented)], left: [...new Set(left)] };
}

/** Makes a comment of a directive that has its lines for itself. */
function commentOf({ span, block }: DirectiveNode, { message, hint }: Fault): TextEdit | undefined {
  const { start } = lineOf({ ...span, end: span.start });
  const { end } = lineOf({ ...span, start: span.end });
  const { text } = span.source;
  const indent = text.slice(start, span.start);
  if (block || indent.trim() !== '' || !/^[ \t]*(?:#.*)?$/.test(text.slice(span.end, end))) return undefined;
  const why = hint === undefined ? message : `${message}: ${hint}`;
  const lines = text.slice(span.start, end).split('\n');
  const commented = lines.map((line) => `${indent}# ${line.trim()}`).join('\n');
  return { span: { ...span, start, end }, text: `${indent}# Not carried over: ${why}.\n${commented}` };
}

function flat(nodes: readonly DirectiveNode[]): readonly DirectiveNode[] {
  return nodes.flatMap((node) => [node, ...flat(node.block ?? [])]);
}
