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

/** What filters leave of an answer's head: its body is another one. */
interface FilteredHead {
  responseLength: number;
  removeHeader(name: string): void;
}

/** What a body passes on its way out; opened one by one, since each sees the head that those before it made. */
export function openFilters<X extends FilteredHead>(
  x: X,
  filters: readonly BodyFilterOf<X>[],
): readonly BodyTransform[] {
  const open: BodyTransform[] = [];
  for (const filter of filters) {
    if (!filter.wants(x)) continue;
    open.push(filter.open(x));
    x.responseLength = -1;
    // Ranges would be those of another body.
    x.removeHeader('Accept-Ranges');
  }
  return open;
}
