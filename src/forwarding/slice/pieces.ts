import { type Exchange, stateKey } from '../../http/index.ts';

/** The piece that a request asks the upstream for. */
export interface SliceState {
  readonly range: string;
  /** True if `$slice_range` was used. If it was not, the request is not one for a piece. */
  isUsed: boolean;
}

const SLICE = stateKey<SliceState>('slice');

/** Turns a request into one for a piece. */
export function beginSlice(x: Exchange, { at, sizeBytes }: { at: number; sizeBytes: number }): SliceState {
  const state = { range: `bytes=${at}-${at + sizeBytes - 1}`, isUsed: false };
  x.setState(SLICE, state);
  return state;
}

/** `$slice_range` */
export function sliceRange(x: Exchange): string | undefined {
  const state = x.state(SLICE);
  if (state) state.isUsed = true;
  return state?.range;
}

/** Returns the position of the first piece of a request (nginx ngx_http_slice_get_start). */
export function firstPiece(x: Exchange, sizeBytes: number): number {
  if (x.header('if-range') !== undefined) return 0;
  const [, digits] = /^bytes= *(\d+)[^,]*$/i.exec(x.header('range') ?? '') ?? [];
  const start = Number(digits ?? 0);
  return Number.isSafeInteger(start) ? start - (start % sizeBytes) : 0;
}

/** The range of a piece within its response, up to but not including `to`. */
interface PieceRange {
  readonly from: number;
  readonly to: number;
  readonly totalBytes: number;
}

const CONTENT_RANGE = /^bytes *(\d{1,15}) *- *(\d{1,15}) *\/ *(\d{1,15}|\*) *$/;

/** Returns the range of a piece if it is the requested one; otherwise the reason of the mismatch, in nginx's words. */
export function pieceRangeOf(
  response: Exchange['response'],
  { at, sizeBytes }: { readonly at: number; readonly sizeBytes: number },
): PieceRange | string {
  const [, first, last, total] = CONTENT_RANGE.exec(response.header('Content-Range') ?? '') ?? [];
  if (first === undefined) return 'invalid range in slice response';
  if (total === '*') return 'no complete length in slice response';
  const place = { from: Number(first), to: Number(last) + 1, totalBytes: Number(total) };
  const to = Math.min(at + sizeBytes, place.totalBytes);
  return place.from === at && place.to === to ? place : unexpected(place);
}

/** Returns the reason why a further piece does not belong to the response; `undefined` if it does. */
export function mismatchOf(
  { status, response }: Exchange,
  place: PieceRange | string,
  { etag, totalBytes }: { readonly etag: string | undefined; readonly totalBytes: number },
): string | undefined {
  if (status !== 206) return `unexpected status code ${status} in slice response`;
  if (etag !== undefined && response.header('ETag') !== etag) return 'etag mismatch in slice response';
  if (typeof place === 'string') return place;
  return place.totalBytes === totalBytes ? undefined : unexpected(place);
}

function unexpected({ from, to }: PieceRange): string {
  return `unexpected range in slice response: ${from}-${to}`;
}
