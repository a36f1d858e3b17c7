import type { TextEdit } from './diagnostic.ts';
import { indentAt, lineOf } from './source.ts';
import type { DirectiveNode, Word } from './tree.ts';

/** Returns the edit that appends text to a word, inside its quotes. */
export function lengthened({ span, quote }: Word, text: string): TextEdit {
  const at = span.end - quote.length;
  return { span: { ...span, start: at, end: at }, text };
}

/** Returns the edit that rewrites a word so that it means `value`. */
export function reworded({ span, quote }: Word, value: string): TextEdit {
  const mark = quote === '' && /[\s;{}#"']|^$/.test(value) ? '"' : quote;
  const escaped = mark === '' ? value : value.replaceAll(mark, `\\${mark}`);
  return { span, text: `${mark}${escaped}${mark}` };
}

/** Returns the edit that adds a line below a directive with the same indent, or on its line if that has others. */
export function lineBehind({ span }: DirectiveNode, text: string): TextEdit {
  const { source, end } = span;
  return { span: { source, start: end, end }, text: `${breakAt(span)}${text}` };
}

/** Returns the edit that adds a line above a directive with the same indent, or on its line if text precedes it. */
export function lineBefore({ span }: DirectiveNode, text: string): TextEdit {
  const { source, start } = span;
  return { span: { source, start, end: start }, text: `${text}${breakAt(span)}` };
}

/** Returns the separator of a directive and one added next to it: a line break and the indent, or a blank. */
function breakAt({ source, start }: DirectiveNode['span']): string {
  const { start: line } = lineOf({ source, start, end: start });
  const before = source.text.slice(line, start);
  return /^[ \t]*$/.test(before) ? `\n${before}` : ' ';
}

/** Returns the edit that deletes a directive, and its line if nothing else stands on it. */
export function removed({ span }: DirectiveNode): TextEdit {
  const { source, start, end } = span;
  const indent = indentAt(source.text, start);
  const rest = /^[ \t]*\r?(?:\n|$)/.exec(source.text.slice(end, lineOf({ source, start: end, end }).end + 2));
  if (indent === undefined || !rest) return { span, text: '' };
  return { span: { source, start: start - indent, end: end + rest[0].length }, text: '' };
}
