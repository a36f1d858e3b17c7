import type { SealedEntry } from '../stores/index.ts';

/** So long an entry that the store has confirmed is kept: a store that fails over may have lost it. */
const KEPT_MS = 60_000;
/** Bytes of one call to the store, unless a single entry has more: on a slow line it must end within the time of a call. */
const MOST_CALLED_BYTES = 131_072;
/** About what an entry takes in memory beside its texts. */
const ENTRY_BYTES = 200;

/** Bytes that wait in the outboxes of a node together. */
export class OutboxBytes {
  waiting = 0;
  readonly most: number;

  constructor(most: number) {
    this.most = most;
  }
}

interface Confirmed {
  readonly entry: SealedEntry;
  readonly atMs: number;
}

/** Entries on their way to the store, in their order. */
export class Outbox {
  readonly #bytes: OutboxBytes;
  #waiting: SealedEntry[] = [];
  #confirmed: Confirmed[] = [];
  #confirmedBytes = 0;

  constructor(bytes: OutboxBytes) {
    this.#bytes = bytes;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Adds an entry. Returns how many of the oldest had to go for it. */
  add(entry: SealedEntry): number {
    this.#waiting.push(entry);
    this.#bytes.waiting += bytesOf(entry);
    let dropped = 0;
    while (this.#bytes.waiting > this.#bytes.most && this.#waiting.length > dropped + 1) {
      this.#bytes.waiting -= bytesOf(this.#waiting[dropped] as SealedEntry);
      dropped += 1;
    }
    if (dropped > 0) this.#waiting.splice(0, dropped);
    return dropped;
  }

  /** The oldest entries, as many as one call to the store takes; they stay until they are confirmed. */
  first(most: number): readonly SealedEntry[] {
    let bytes = 0;
    let count = 0;
    for (const entry of this.#waiting.slice(0, most)) {
      bytes += bytesOf(entry);
      if (count > 0 && bytes > MOST_CALLED_BYTES) break;
      count += 1;
    }
    return this.#waiting.slice(0, count);
  }

  /** The store has these entries. */
  confirm(entries: readonly SealedEntry[], nowMs: number): void {
    const last = entries.at(-1)?.sequence ?? 0;
    // Some of them may have been dropped meanwhile.
    const done = this.#waiting.findIndex(({ sequence }) => sequence > last);
    for (const entry of this.#waiting.splice(0, done < 0 ? this.#waiting.length : done)) {
      this.#bytes.waiting -= bytesOf(entry);
      this.#confirmed.push({ entry, atMs: nowMs });
      this.#confirmedBytes += bytesOf(entry);
    }
    this.#forget(nowMs);
  }

  /** Confirmed entries beyond this sequence wait again: the store has lost them. Returns how many. */
  restore(lastSequence: number): number {
    const again = this.#confirmed
      .filter(({ entry }) => entry.sequence > lastSequence)
      .map(({ entry }) => entry);
    if (again.length === 0) return 0;
    this.#confirmed = this.#confirmed.filter(({ entry }) => entry.sequence <= lastSequence);
    this.#waiting = [...again, ...this.#waiting];
    for (const entry of again) {
      this.#bytes.waiting += bytesOf(entry);
      this.#confirmedBytes -= bytesOf(entry);
    }
    return again.length;
  }

  clear(): void {
    for (const entry of this.#waiting) this.#bytes.waiting -= bytesOf(entry);
    this.#waiting = [];
    this.#confirmed = [];
    this.#confirmedBytes = 0;
  }

  #forget(nowMs: number): void {
    let old = 0;
    while (old < this.#confirmed.length) {
      const { entry, atMs } = this.#confirmed[old] as Confirmed;
      if (nowMs - atMs < KEPT_MS && this.#confirmedBytes <= this.#bytes.most) break;
      this.#confirmedBytes -= bytesOf(entry);
      old += 1;
    }
    // A shift for each entry would copy the rest again and again.
    if (old > 0) this.#confirmed.splice(0, old);
  }
}

function bytesOf({ fields }: SealedEntry): number {
  let bytes = ENTRY_BYTES;
  for (const field of fields) bytes += field.length;
  return bytes;
}
