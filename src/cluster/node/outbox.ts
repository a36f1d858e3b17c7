import type { SealedEntry } from '../stores/index.ts';

/** How long an acknowledged entry is kept: a store that fails over may have lost it. */
const KEPT_MS = 60_000;
/** Maximum bytes of one call to the store, which must end in time on a slow network. A larger entry is sent alone. */
const MOST_CALLED_BYTES = 131_072;
/** About how many bytes of memory an entry takes beside its texts. */
const ENTRY_BYTES = 200;

/** The bytes in all outboxes of a node. Beyond `most` the largest one drops entries, so a flood hits only itself. */
export class OutboxBytes {
  waiting = 0;
  readonly most: number;
  readonly #outboxes = new Set<Outbox>();

  constructor(most: number) {
    this.most = most;
  }

  /** Makes room for the entry that was added last to this outbox. */
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

interface SentEntry {
  readonly entry: SealedEntry;
  readonly atMs: number;
}

/** The entries of one stream that wait for the store, in order, and the ones acknowledged lately. */
export class Outbox {
  readonly #bytes: OutboxBytes;
  readonly #dropped: () => void;
  #waiting: SealedEntry[] = [];
  #acknowledged: SentEntry[] = [];
  #acknowledgedBytes = 0;
  #waitingBytes = 0;

  /** `dropped` is called for each entry that is dropped before the store has it. */
  constructor(bytes: OutboxBytes, dropped: () => void) {
    this.#bytes = bytes;
    this.#dropped = dropped;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Bytes of the entries that wait. */
  get bytes(): number {
    return this.#waitingBytes;
  }

  /** Adds an entry. The oldest ones of the largest outbox may be dropped for it. */
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

  /** Returns the oldest entries, as many as one call to the store takes. They stay until they are acknowledged. */
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

  /** Called when the store has acknowledged these entries. */
  acknowledge(entries: readonly SealedEntry[], nowMs: number): void {
    const last = entries.at(-1)?.sequence ?? 0;
    // Some of them may have been dropped meanwhile.
    const done = this.#waiting.findIndex(({ sequence }) => sequence > last);
    for (const entry of this.#waiting.splice(0, done < 0 ? this.#waiting.length : done)) {
      this.#count(-bytesOf(entry));
      this.#acknowledged.push({ entry, atMs: nowMs });
      this.#acknowledgedBytes += bytesOf(entry);
    }
    this.#forget(nowMs);
  }

  /** Lets acknowledged entries beyond this sequence wait again, since the store has lost them. Returns their number. */
  restore(lastSequence: number): number {
    const again = this.#acknowledged
      .filter(({ entry }) => entry.sequence > lastSequence)
      .map(({ entry }) => entry);
    if (again.length === 0) return 0;
    this.#acknowledged = this.#acknowledged.filter(({ entry }) => entry.sequence <= lastSequence);
    this.#waiting = [...again, ...this.#waiting];
    for (const entry of again) {
      this.#count(bytesOf(entry));
      this.#acknowledgedBytes -= bytesOf(entry);
    }
    return again.length;
  }

  clear(): void {
    this.#count(-this.#waitingBytes);
    this.#bytes.leave(this);
    this.#waiting = [];
    this.#acknowledged = [];
    this.#acknowledgedBytes = 0;
  }

  #count(bytes: number): void {
    this.#waitingBytes += bytes;
    this.#bytes.waiting += bytes;
  }

  #forget(nowMs: number): void {
    let old = 0;
    while (old < this.#acknowledged.length) {
      const { entry, atMs } = this.#acknowledged[old] as SentEntry;
      if (nowMs - atMs < KEPT_MS && this.#acknowledgedBytes <= this.#bytes.most) break;
      this.#acknowledgedBytes -= bytesOf(entry);
      old += 1;
    }
    // A shift for each entry would copy the rest again and again.
    if (old > 0) this.#acknowledged.splice(0, old);
  }
}

function bytesOf({ fields }: SealedEntry): number {
  let bytes = ENTRY_BYTES;
  for (const field of fields) bytes += field.length;
  return bytes;
}
