import { tooLongFollowed } from '../fault/index.ts';
import type { Row, RowSink } from '../session/index.ts';

/** A row as a statement returns it: its key and its JSON, both as text. */
export interface KeyedRow {
  readonly key: string;
  readonly row: string;
  /** Of the JSON. */
  readonly digest: number;
}

/** A change of a row, as a client sees it. */
export type RowChange =
  | { readonly kind: 'insert' | 'update'; readonly key: string; readonly row: string }
  | { readonly kind: 'delete'; readonly key: string };

/**
 * The rows that clients of a followed read have been told of. Only known rows can be deleted: a client never learns of
 * a row that its role may not read.
 */
export class KnownRows {
  /** A digest of each row by its key. */
  readonly #digests = new Map<string, number>();

  get size(): number {
    return this.#digests.size;
  }

  keys(): Iterable<string> {
    return this.#digests.keys();
  }

  /** Takes a row that was read. Gives `undefined` if clients see no change of it. */
  take({ key, row, digest }: KeyedRow): RowChange | undefined {
    const before = this.#digests.get(key);
    if (before === digest) return undefined;
    this.#digests.set(key, digest);
    return { kind: before === undefined ? 'insert' : 'update', key, row };
  }

  /** Notes that no row with this key was found. Gives `undefined` if clients do not know of it. */
  miss(key: string): RowChange | undefined {
    return this.#digests.delete(key) ? { kind: 'delete', key } : undefined;
  }
}

/** Two 32-bit hashes (with the finalisers of MurmurHash3) as one number of 53 bits. Equal numbers mean equal texts. */
function digestOf(text: string): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0);
}

/** One read of a followed query gives no more than this, in characters. */
const LONGEST_READ = 16_777_216;

/**
 * Collects the rows of a read. They are kept until all have come, so a read that grows too long is cancelled while it
 * runs. The object is also the client of the read, because no client of a query may cancel a read for all of them.
 */
export class KeyedRows implements RowSink {
  aborted = false;
  readonly rows: KeyedRow[] = [];
  readonly #cancels: (() => void)[] = [];
  #characters = 0;

  onAbort(cancel: () => void): void {
    this.#cancels.push(cancel);
  }

  begin(): void {
    // A read whose session was lost is run again.
    this.rows.length = 0;
    this.#characters = 0;
  }

  columns(): void {}

  row([key, row]: Row): undefined {
    const text = row ?? '';
    this.#characters += (key?.length ?? 0) + text.length;
    if (this.#characters > LONGEST_READ) this.#cancel();
    // Digests are made row by row: those of all rows at once would hold up other requests for too long.
    this.rows.push({ key: key ?? '', row: text, digest: digestOf(text) });
  }

  #cancel(): never {
    this.aborted = true;
    this.rows.length = 0;
    for (const cancel of this.#cancels) cancel();
    throw tooLongFollowed(LONGEST_READ);
  }
}
