import type { ExchangeState } from './exchange-state.ts';

/** Turns the body of one answer into another one (gzip, sub_filter …), piece by piece or whole. */
export interface BodyTransform {
  /** The whole body at once, where it is there already; absent: always in pieces. */
  whole?(body: Uint8Array): Uint8Array;
  /** May give an empty array: nothing to send yet. */
  write(piece: Uint8Array): Uint8Array | Promise<Uint8Array>;
  /** What is left. */
  end(): Uint8Array | Promise<Uint8Array>;
  /** The answer ended early: free what it holds. */
  close?(): void;
}

/** Decides for each answer whether to transform its body. The header filters have run by then. */
export interface BodyFilter {
  /** Only looks: at the status, `responseType`, `responseLength` and the headers. */
  wants(x: ExchangeState): boolean;
  /** May change response headers; the length is dropped afterwards. */
  open(x: ExchangeState): BodyTransform;
}
