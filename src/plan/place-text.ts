import { placeOf } from '../../grammar/index.ts';
import type { Span } from '../../grammar/index.ts';

/** `file:line`, as logs and views name a place; '' for none. */
export function placeText(span: Span | undefined): string {
  if (!span) return '';
  const { file, line } = placeOf(span);
  return `${file}:${line}`;
}
