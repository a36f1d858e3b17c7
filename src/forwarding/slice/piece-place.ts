import type { Exchange } from '../../http/index.ts';

/** The range of a piece within its response, up to but not including `to`. */
interface PiecePlace {
  readonly from: number;
  readonly to: number;
  readonly totalBytes: number;
}

const CONTENT_RANGE = /^bytes *(\d{1,15}) *- *(\d{1,15}) *\/ *(\d{1,15}|\*) *$/;

/** Returns the range of a piece if it is the requested one; otherwise the reason of the mismatch, in nginx's words. */
export function placeOf(
  response: Exchange['response'],
  { at, sizeBytes }: { readonly at: number; readonly sizeBytes: number },
): PiecePlace | string {
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
  place: PiecePlace | string,
  { etag, totalBytes }: { readonly etag: string | undefined; readonly totalBytes: number },
): string | undefined {
  if (status !== 206) return `unexpected status code ${status} in slice response`;
  if (etag !== undefined && response.header('ETag') !== etag) return 'etag mismatch in slice response';
  if (typeof place === 'string') return place;
  return place.totalBytes === totalBytes ? undefined : unexpected(place);
}

function unexpected({ from, to }: PiecePlace): string {
  return `unexpected range in slice response: ${from}-${to}`;
}
