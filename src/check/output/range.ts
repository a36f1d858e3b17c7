import { placeOf } from '../../../grammar/index.ts';
import type { Span } from '../../../grammar/index.ts';
import type { Finding } from '../finding.ts';

/** A stretch of a file as people count: from 1, columns in code points, the end exclusive. */
export interface Range {
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

/** Where a span begins and ends. */
export function rangeOf(span: Span): Range {
  const { line, column } = placeOf(span);
  const end = placeOf({ ...span, start: span.end });
  return { line, column, endLine: end.line, endColumn: end.column };
}

/** The file that a finding is in. */
export function fileOf({ span, file = '' }: Finding): string {
  return span?.source.name ?? file;
}
