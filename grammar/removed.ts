import type { TextEdit } from './diagnostic.ts';
import { indentAt, lineOf } from './source.ts';
import type { DirectiveNode } from './tree.ts';

/** The directive taken out, with its line where nothing else stands on it. */
export function removed({ span }: DirectiveNode): TextEdit {
  const { source, start, end } = span;
  const indent = indentAt(source.text, start);
  const rest = /^[ \t]*\r?(?:\n|$)/.exec(source.text.slice(end, lineOf({ source, start: end, end }).end + 2));
  if (indent === undefined || !rest) return { span, text: '' };
  return { span: { source, start: start - indent, end: end + rest[0].length }, text: '' };
}
