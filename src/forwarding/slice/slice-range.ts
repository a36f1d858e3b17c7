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
