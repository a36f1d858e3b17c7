import { isGenuine, type Seal, sealEntry } from './entry.ts';
import { Outbox, type OutboxBytes } from './outbox.ts';
import { SeenEntries } from './seen-entries.ts';
import type { ClusterStore, SealedEntry, StoredEntry } from './store.ts';
import type { ForeignEntry, Gap, Subject } from './subject.ts';

/** Entries of one call to the store. */
const MOST_SENT = 256;
/** A read that gives so many of a stream may have left some. */
const MANY_READ = 100;
/** When the store has other entries than those that were read, so many counters are read again. */
const REREAD = 10_000;

/** What all count. */
export interface StreamCounts {
  sent(count: number): void;
  received(count: number): void;
  duplicate(): void;
  rejected(): void;
  gap(stream: string, gap: Gap): void;
  dropped(stream: string, count: number): void;
}

interface SharedStreamParts {
  readonly nodeId: string;
  readonly seal: Seal;
  readonly bytes: OutboxBytes;
  readonly counts: StreamCounts;
}

/** One stream of the store and its subject on this node: what is made here goes out, what others have made comes in. */
export class SharedStream {
  readonly subject: Subject;
  readonly #parts: SharedStreamParts;
  readonly #outbox: Outbox;
  readonly #seen = new SeenEntries();
  /** The counter of the last entry that was read; `undefined`: nothing was read yet. */
  #position: number | undefined;
  readonly #macs = new RecentMacs();
  /** What the store has lost comes first: it takes no entry behind a later one of the same node. */
  #maySend = false;
  #beginning: Promise<void> | undefined;
  #isSending = false;
  /** How many entries had to be dropped since that was told. */
  #untold = 0;
  /** Since when the store may have entries that were not read, in `performance.now()`; `undefined`: all of them were. */
  #behindSinceMs: number | undefined = performance.now();
  gaps = 0;

  constructor(subject: Subject, parts: SharedStreamParts) {
    this.subject = subject;
    this.#parts = parts;
    this.#outbox = new Outbox(parts.bytes);
  }

  /** The counter of the last entry that was read; `undefined` before `begin` has succeeded once. */
  get position(): number | undefined {
    return this.#position;
  }

  /** How many entries wait for the store. */
  get waiting(): number {
    return this.#outbox.length;
  }

  /** How long this node has not had all that the store has. */
  lagMs(nowMs: number): number {
    return this.#behindSinceMs === undefined ? 0 : nowMs - this.#behindSinceMs;
  }

  /** The store cannot be asked. */
  interrupted(): void {
    this.#maySend = false;
    this.#isBehind();
  }

  /**
   * Finds the counter to read from, each time that the store can be asked again. The store may have forgotten what it had
   * confirmed. Rejects as the store does.
   */
  begin(store: ClusterStore): Promise<void> {
    this.#beginning ??= this.#begin(store).finally(() => (this.#beginning = undefined));
    return this.#beginning;
  }

  /** Compares what the store has with what was read from it and sent to it. Rejects as the store does. */
  async verify(store: ClusterStore): Promise<void> {
    const { stream, incarnation } = this.subject;
    const position = this.#position ?? 0;
    const asked = { counter: position, origin: this.#parts.nodeId, incarnation };
    const state = await store.look(stream, asked);
    // Reading has gone on meanwhile.
    if (this.#position !== position) return;
    this.#outbox.restore(state.lastSequence);
    const { counter, oldest } = state;
    const known = this.#macs.at(position);
    const isOther = state.mac !== undefined && known !== undefined && state.mac !== known;
    if (counter < position) await this.#goBack(store, { from: counter + 1, to: position });
    else if (isOther) this.#reread(Math.max(oldest, position - REREAD));
    else if (oldest > position + 1) this.#skip({ from: position + 1, to: oldest - 1 });
  }

  /** Sends what was made here, until nothing is left or the store fails: then it rejects as the store does. */
  async send(store: ClusterStore): Promise<void> {
    if (!this.#maySend || this.#isSending) return this.collect();
    this.#isSending = true;
    try {
      for (;;) {
        this.collect();
        const entries = this.#outbox.first(MOST_SENT);
        if (entries.length === 0) return;
        this.#confirm(entries, await store.append(this.subject.stream, entries));
        // Not before the store takes entries again: it would be one more that has to wait.
        if (this.#untold > 0) this.subject.tellLost(this.#untold);
        this.#untold = 0;
      }
    } finally {
      this.#isSending = false;
    }
  }

  /** Takes over what was made here since the last call, also while the store cannot be asked. */
  collect(): void {
    const { counts } = this.#parts;
    const { stream } = this.subject;
    for (;;) {
      const { entries, lost } = this.subject.take(MOST_SENT);
      let dropped = lost;
      for (const entry of entries) dropped += this.#outbox.add(this.#sealed(entry));
      if (dropped > 0) counts.dropped(stream, dropped);
      this.#untold += dropped;
      if (entries.length === 0) return;
    }
  }

  /** Takes the entries of one read. Behind many there are more. */
  receive(entries: readonly StoredEntry[]): void {
    if (entries.length < MANY_READ) this.#behindSinceMs = undefined;
    else this.#isBehind();
    const position = this.#position ?? 0;
    const fresh: StoredEntry[] = [];
    const gaps: Gap[] = [];
    let next = position + 1;
    for (const entry of entries) {
      if (entry.counter < next) continue;
      if (entry.counter > next) gaps.push({ from: next, to: entry.counter - 1 });
      next = entry.counter + 1;
      this.#macs.add(entry);
      if (this.#isForUs(entry)) fresh.push(entry);
    }
    // What cannot be applied now is read again.
    if (!this.subject.apply(fresh.map(foreign), next - 1)) return;
    for (const entry of fresh) this.#seen.add(entry);
    for (const gap of gaps) this.#told(gap);
    this.#parts.counts.received(fresh.length);
    this.#position = next - 1;
  }

  async #begin(store: ClusterStore): Promise<void> {
    if (this.#position === undefined) await this.#start(store);
    else await this.verify(store);
    this.#maySend = true;
  }

  #isBehind(): void {
    this.#behindSinceMs ??= performance.now();
  }

  /** Tells whether an entry is genuine, of another incarnation and new. Own entries only learn their counter. */
  #isForUs(entry: StoredEntry): boolean {
    const { nodeId, seal, counts } = this.#parts;
    const { stream, incarnation } = this.subject;
    if (!isGenuine(seal, stream, entry) || !this.subject.accepts(entry.fields)) {
      counts.rejected();
      return false;
    }
    if (entry.origin === nodeId && entry.incarnation === incarnation) {
      this.subject.confirmed(entry.sequence, entry.counter);
      return false;
    }
    if (!this.#seen.has(entry)) return true;
    counts.duplicate();
    return false;
  }

  /** A node that begins takes over the last entries; one whose worker was replaced only learns what it has had. */
  async #start(store: ClusterStore): Promise<void> {
    const { stream, history, position } = this.subject;
    const { entries, counter } = await store.tail(stream, history);
    if (position === 0) {
      this.#position = entries.length > 0 ? (entries[0] as StoredEntry).counter - 1 : counter;
      return this.receive(entries);
    }
    for (const entry of entries)
      if (entry.counter <= position && isGenuine(this.#parts.seal, stream, entry)) this.#seen.add(entry);
    this.#position = position;
    await this.verify(store);
  }

  #confirm(entries: readonly SealedEntry[], counters: readonly number[]): void {
    this.#outbox.confirm(entries, performance.now());
    this.#parts.counts.sent(entries.length);
    for (const [i, { sequence }] of entries.entries()) {
      const counter = counters[i] ?? 0;
      // An entry that the store has had before learns its counter when it is read.
      if (counter > 0) this.subject.confirmed(sequence, counter);
    }
  }

  #sealed(entry: { readonly sequence: number; readonly fields: readonly string[] }): SealedEntry {
    const { nodeId, seal } = this.#parts;
    const { stream, incarnation } = this.subject;
    return sealEntry(seal, stream, { ...entry, origin: nodeId, incarnation });
  }

  /** The store has lost its last entries. What is before them may be other entries than those that were read. */
  async #goBack(store: ClusterStore, gap: Gap): Promise<void> {
    const last = gap.from - 1;
    const { nodeId } = this.#parts;
    const { mac, oldest } = await store.look(this.subject.stream, {
      counter: last,
      origin: nodeId,
      incarnation: this.subject.incarnation,
    });
    if (this.#position !== gap.to) return;
    if (last > 0 && mac !== this.#macs.at(last)) return this.#reread(Math.max(oldest, last - REREAD));
    this.#told(gap);
    this.#moveTo(last);
  }

  /** What was read from this counter on is not what the store has: it is read again, and what is known is dropped. */
  #reread(from: number): void {
    this.#told({ from, to: this.#position ?? 0 });
    this.#moveTo(from - 1);
  }

  /** The store has dropped entries before they were read. */
  #skip(gap: Gap): void {
    this.#told(gap);
    this.#moveTo(gap.to);
  }

  #moveTo(position: number): void {
    this.#position = position;
    this.subject.apply([], position);
  }

  #told(gap: Gap): void {
    this.gaps += 1;
    this.#parts.counts.gap(this.subject.stream, gap);
    this.subject.tellGap(gap);
  }
}

/** Entries whose signatures are remembered. */
const MOST_MACS = 1_000;

/** The signatures of the entries that were read last, by counter. */
class RecentMacs {
  readonly #byCounter = new Map<number, string>();

  at(counter: number): string | undefined {
    return this.#byCounter.get(counter);
  }

  add({ counter, mac }: StoredEntry): void {
    // Reinserted, so that the oldest is the first.
    this.#byCounter.delete(counter);
    this.#byCounter.set(counter, mac);
    if (this.#byCounter.size <= MOST_MACS) return;
    const [oldest] = this.#byCounter.keys();
    this.#byCounter.delete(oldest as number);
  }
}

function foreign({ origin, sequence, fields, counter }: StoredEntry): ForeignEntry {
  return { origin, sequence, fields, counter };
}
