import { offsetBeyond } from '../fault/index.ts';
import type { Media, RowRange } from '../request/index.ts';

/** `Content-Range`: `first-last/total`, `*` for what there is none of or is not known. */
export function contentRange({ offset }: RowRange, rows: number, total: number | undefined): string {
  const range = rows === 0 ? '*' : `${offset}-${offset + rows - 1}`;
  return `${range}/${total ?? '*'}`;
}

/** `Content-Range` and its unit; a query plan has none. */
export function rangeHeaders({ format }: Media, range: string): [string, string][] {
  if (format === 'plan') return [];
  return [
    ['Content-Range', range],
    ['Range-Unit', 'items'],
  ];
}

/** 206 when rows are missing from a counted response. Throws PGRST103 when it starts behind the last one. */
export function rangeStatus({ offset }: RowRange, rows: number, total: number | undefined): 200 | 206 {
  if (total === undefined) return 200;
  if (offset > total) throw offsetBeyond(offset, total);
  return rows < total ? 206 : 200;
}
