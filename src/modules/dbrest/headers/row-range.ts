import { lowerAboveUpper, malformedRange, offsetBeyond } from '../fault/index.ts';

/** Which rows are wanted; without a limit all from the offset on. */
export interface RowRange {
  readonly offset: number;
  readonly limit?: number;
}

/** The rows that the query, the `Range` header and `dbrest_max_rows` have in common. Throws PGRST100 and PGRST103. */
export function rowRange(
  query: { readonly offset: number; readonly limit?: number },
  header: string | undefined,
  maxRows: number | undefined,
): RowRange {
  const { first, end } = header === undefined ? { first: 0, end: Infinity } : parseRange(header);
  const offset = Math.max(first, query.offset);
  const ends = Math.min(end, query.offset + (query.limit ?? Infinity));
  if (ends < offset || (ends === offset && query.limit !== 0)) throw lowerAboveUpper();
  const limit = Math.min(ends - offset, maxRows ?? Infinity);
  return limit === Infinity ? { offset } : { offset, limit };
}

/** `Content-Range`: `first-last/total`, `*` for what there is none of or is not known. */
export function contentRange({ offset }: RowRange, rows: number, total: number | undefined): string {
  const range = rows === 0 ? '*' : `${offset}-${offset + rows - 1}`;
  return `${range}/${total ?? '*'}`;
}

/** 206 when rows are missing from a counted answer. Throws PGRST103 when it starts behind the last one. */
export function rangeStatus({ offset }: RowRange, rows: number, total: number | undefined): 200 | 206 {
  if (total === undefined) return 200;
  if (offset > total) throw offsetBeyond(offset, total);
  return rows < total ? 206 : 200;
}

/** `0-9` or `10-`, with or without the unit in front. */
function parseRange(header: string): { first: number; end: number } {
  const [, first, last] = /^(?:items=)?(\d{1,15})-(\d{0,15})$/.exec(header.trim()) ?? [];
  if (first === undefined) throw malformedRange(header);
  const end = last ? Number(last) + 1 : Infinity;
  if (end <= Number(first)) throw lowerAboveUpper();
  return { first: Number(first), end };
}
