import type { SealedEntry } from '../stores/index.ts';

/** So long an entry that the store has confirmed is kept: a store that fails over may have lost it. */
const KEPT_MS = 60_000;
/** Bytes of one call to the store, unless a single entry has more: on a slow line it must end within the time of a call. */
const MOST_CALLED_BYTES = 131_072;
/** About what an entry takes in memory beside its texts. */
const ENTRY_BYTES = 200;

/** Bytes that wait in the outboxes of a node together. If they are too many, the largest outbox gives: a flood drops itself only. */
export class OutboxBytes {
  waiting = 0;
  readonly most: number;
  readonly #outboxes = new Set<Outbox>();

  constructor(most: number) {
    this.most = most;
  }

  /** Makes room for what was added last. */
  fit(added: Outbox): void {
    this.#outboxes.add(added);
    while (this.waiting > this.most) {
      const [largest = added] = [...this.#outboxes].sort((one, other) => other.bytes - one.bytes);
      if (largest === added && added.length === 1) return;
      largest.dropOldest();
    }
  }

  leave(outbox: Outbox): void {
    this.#outboxes.delete(outbox);
  }
}

interface Confirmed {
  readonly entry: SealedEntry;
  readonly atMs: number;
}

/** Entries on their way to the store, in their order. */
export class Outbox {
  readonly #bytes: OutboxBytes;
  readonly #dropped: () => void;
  #waiting: SealedEntry[] = [];
  #confirmed: Confirmed[] = [];
  #confirmedBytes = 0;
  #waitingBytes = 0;

  /** `dropped` is called for each entry that goes without the store having it. */
  constructor(bytes: OutboxBytes, dropped: () => void) {
    this.#bytes = bytes;
    this.#dropped = dropped;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Of what waits. */
  get bytes(): number {
    return this.#waitingBytes;
  }

  /** Adds an entry. The oldest ones of the largest outbox may have to go for it. */
  add(entry: SealedEntry): void {
    this.#waiting.push(entry);
    this.#count(bytesOf(entry));
    this.#bytes.fit(this);
  }

  dropOldest(): void {
    const oldest = this.#waiting.shift();
    if (!oldest) return;
    this.#count(-bytesOf(oldest));
    this.#dropped();
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
      this.#count(-bytesOf(entry));
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
      this.#count(bytesOf(entry));
      this.#confirmedBytes -= bytesOf(entry);
    }
    return again.length;
  }

  clear(): void {
    this.#count(-this.#waitingBytes);
    this.#bytes.leave(this);
    this.#waiting = [];
    this.#confirmed = [];
    this.#confirmedBytes = 0;
  }

  #count(bytes: number): void {
    this.#waitingBytes += bytes;
    this.#bytes.waiting += bytes;
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
