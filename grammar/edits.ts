import type { TextEdit } from './diagnostic.ts';
import { indentAt, lineOf } from './source.ts';
import type { DirectiveNode, Word } from './tree.ts';

/** A word with more text at its end, inside its quotes. */
export function lengthened({ span, quote }: Word, text: string): TextEdit {
  const at = span.end - quote.length;
  return { span: { ...span, start: at, end: at }, text };
}

/** A word as it must be written to mean `value`. */
export function reworded({ span, quote }: Word, value: string): TextEdit {
  const mark = quote === '' && /[\s;{}#"']|^$/.test(value) ? '"' : quote;
  const escaped = mark === '' ? value : value.replaceAll(mark, `\\${mark}`);
  return { span, text: `${mark}${escaped}${mark}` };
}

/** A line more behind a directive, as far to the right as it; on its line where other directives stand there, too. */
export function lineBehind({ span }: DirectiveNode, text: string): TextEdit {
  const { source, end } = span;
  return { span: { source, start: end, end }, text: `${breakAt(span)}${text}` };
}

/** A line more in front of a directive, as far to the right as it; on its line where something stands before it. */
export function lineBefore({ span }: DirectiveNode, text: string): TextEdit {
  const { source, start } = span;
  return { span: { source, start, end: start }, text: `${text}${breakAt(span)}` };
}

/** What stands between a directive and one that is added beside it. */
function breakAt({ source, start }: DirectiveNode['span']): string {
  const { start: line } = lineOf({ source, start, end: start });
  const before = source.text.slice(line, start);
  return /^[ \t]*$/.test(before) ? `\n${before}` : ' ';
}

/** The directive taken out, with its line where nothing else stands on it. */
export function removed({ span }: DirectiveNode): TextEdit {
  const { source, start, end } = span;
  const indent = indentAt(source.text, start);
  const rest = /^[ \t]*\r?(?:\n|$)/.exec(source.text.slice(end, lineOf({ source, start: end, end }).end + 2));
  if (indent === undefined || !rest) return { span, text: '' };
  return { span: { source, start: start - indent, end: end + rest[0].length }, text: '' };
}
