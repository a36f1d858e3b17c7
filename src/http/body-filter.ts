/** What a piece becomes. In several pieces where it may grow: each goes out before the next is asked for. */
export type Transformed = Uint8Array | Promise<Uint8Array> | AsyncIterable<Uint8Array>;

/** Turns the body of one answer into another one (gzip, sub_filter …), piece by piece or whole. */
export interface BodyTransform {
  /** The whole body at once, where it is there already; absent: always in pieces. */
  whole?(body: Uint8Array): Uint8Array;
  /** May give an empty array: nothing to send yet. */
  write(piece: Uint8Array): Transformed;
  /** What is left. */
  end(): Transformed;
  /** The answer ended early: free what it holds. */
  close?(): void;
}

/** Decides for each answer of an exchange `X` whether to transform its body. The header filters have run by then. */
export interface BodyFilterOf<X> {
  /** Only looks: at the status, `responseType`, `responseLength` and the headers. */
  wants(x: X): boolean;
  /** May change response headers; the length is dropped afterwards. */
  open(x: X): BodyTransform;
}
