import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type ClusterStore,
  isGenuine,
  type SealedEntry,
  sealEntry,
  type StoredEntry,
  type StreamState,
} from '../stores/index.ts';
import { EntryTimes } from './entry-times.ts';
import { gapIn, type NodeStream, type StreamParts } from './node-stream.ts';
import { Outbox, type OutboxBytes } from './outbox.ts';
import { ReadPosition } from './read-position.ts';
import { SeenEntries } from './seen-entries.ts';
import type { RemoteEntry, Gap, Subject } from './subject.ts';

/** Maximum entries of one call to the store. */
const MOST_SENT = 256;
/** Maximum entries applied in one go: a lock is held, and local entries must be taken before they are overwritten. */
const MOST_APPLIED = 250;
/** A read that returns this many entries of a stream may have left some in the store. */
const MANY_READ = 100;
/** The number of last entries that a node reads when it resumes, to recognize the ones it has had. */
const MOST_RECALLED = 1_000;
/** How many counters are read again when the store has replaced entries that were read. */
const REREAD = 10_000;

interface SharedStreamParts extends StreamParts {
  readonly bytes: OutboxBytes;
}

/** A stream of events: every entry counts. */
export class SharedStream implements NodeStream {
  readonly subject: Subject;
  readonly #parts: SharedStreamParts;
  readonly #outbox: Outbox;
  readonly #seen = new SeenEntries();
  readonly #position = new ReadPosition();
  readonly #times = new EntryTimes();
  /** The birth of the stream that the position belongs to; 0: it is unknown. */
  #birth = 0;
  /** False until lost entries wait again: the store takes no entry after a later one of the same node. */
  #maySend = false;
  #beginning: Promise<void> | undefined;
  #sending: Promise<void> | undefined;
  /** The last sequence that was sent, acknowledged or not. */
  #tried = 0;
  /** The number of dropped entries that users were not told of yet. */
  #untold = 0;
  gaps = 0;

  constructor(subject: Subject, parts: SharedStreamParts) {
    this.subject = subject;
    this.#parts = parts;
    this.#outbox = new Outbox(parts.bytes, () => this.#isDropped(1));
  }

  /** The counter of the last entry that was read; `undefined` before `begin` has succeeded once. */
  get position(): number | undefined {
    return this.#position.counter;
  }

  get waiting(): number {
    return this.#outbox.length;
  }

  lagMs(nowMs: number): number {
    return this.#position.lagMs(nowMs);
  }

  interrupted(): void {
    this.#maySend = false;
    this.isBehind();
  }

  isBehind(): void {
    this.#position.isBehind();
  }

  drop(): void {
    this.#outbox.clear();
  }

  begin(store: ClusterStore): Promise<void> {
    this.#beginning ??= this.#begin(store).finally(() => (this.#beginning = undefined));
    return this.#beginning;
  }

  async verify(store: ClusterStore): Promise<boolean> {
    const position = this.#position.counter ?? 0;
    const state = await store.look(this.subject.stream, this.#asked(position));
    this.#times.told(state.nowMs);
    // Entries were read meanwhile: the state is out of date.
    if (this.#position.counter !== position) return true;
    const isReading = await this.#compare(store, state, position);
    // Only after a gap was told: until then the position belongs to the former stream.
    this.#birth = state.birth;
    if (this.subject.birth !== undefined) this.subject.birth = state.birth;
    return isReading;
  }

  send(store: ClusterStore): Promise<void> {
    this.collect();
    if (!this.#maySend) return Promise.resolve();
    this.#sending ??= this.#send(store).finally(() => (this.#sending = undefined));
    return this.#sending;
  }

  collect(): void {
    for (;;) {
      const { entries, lost } = this.subject.take(MOST_SENT);
      if (lost > 0) this.#isDropped(lost);
      for (const entry of entries) this.#outbox.add(this.#unsealed(entry));
      if (entries.length === 0) return;
    }
  }

  async receive(entries: readonly StoredEntry[], behind: number): Promise<void> {
    if (this.#position.counter !== behind) return;
    if (entries.length < MANY_READ) this.#position.hasAll();
    else this.isBehind();
    const gap = gapIn(entries, behind);
    for (let at = 0; at < entries.length; at += MOST_APPLIED) {
      if (at > 0) await nextTurn();
      if (!this.#apply(entries.slice(at, at + MOST_APPLIED))) return this.isBehind();
    }
    if (gap) this.#told(gap);
  }

  /** Applies some entries. Returns false if they have to be read again. */
  #apply(entries: readonly StoredEntry[]): boolean {
    const behind = this.#position.counter ?? 0;
    const [fresh, own] = [[] as StoredEntry[], [] as StoredEntry[]];
    const now = new SeenEntries();
    let position = behind;
    for (const entry of entries) {
      if (entry.counter <= position) continue;
      position = entry.counter;
      this.#position.remember(entry);
      const kind = this.#kindOf(entry, now);
      if (kind !== 'dropped') this.#times.remember(entry);
      if (kind === 'own') own.push(entry);
      else if (kind === 'new') fresh.push(entry);
      if (kind === 'new') now.add(entry);
    }
    // Remote entries must not overwrite local ones that were not taken yet.
    this.collect();
    if (own.length > 0) this.subject.acknowledged(own);
    if (!this.subject.apply(fresh.map(remote), position, behind)) {
      // Another worker may have read on meanwhile.
      this.#position.counter = this.subject.position ?? behind;
      return false;
    }
    for (const entry of fresh) this.#seen.add(entry);
    this.#parts.counts.received(fresh.length);
    this.#position.counter = position;
    return true;
  }

  #isDropped(count: number): void {
    this.#parts.counts.dropped(this.subject.stream, count);
    this.#untold += count;
  }

  async #begin(store: ClusterStore): Promise<void> {
    if (this.#position.counter === undefined) await this.#start(store);
    else await this.verify(store);
    this.#maySend = true;
  }

  async #send(store: ClusterStore): Promise<void> {
    for (;;) {
      this.collect();
      const entries = this.#outbox.first(MOST_SENT);
      if (entries.length === 0) return;
      const isNew = (entries[0] as SealedEntry).sequence > this.#tried;
      this.#tried = Math.max(this.#tried, entries.at(-1)?.sequence ?? 0);
      this.#acknowledge(entries, {
        counters: await store.append(this.subject.stream, this.#sealed(entries)),
        isNew,
      });
      // Only once the store takes entries again: this adds an entry, which would have to wait, too.
      const lost = this.#untold;
      this.#untold = 0;
      if (lost > 0) this.subject.tellLost(lost);
    }
  }

  /** Acts on how the stream differs from the store. Returns what `verify` does. */
  async #compare(store: ClusterStore, state: StreamState, position: number): Promise<boolean> {
    const { counter, oldest, lastSequence } = state;
    const standing = this.#position.standing(state, this.subject.birth ?? this.#birth);
    // In other cases entries beyond that sequence may have been acknowledged since the store was asked.
    if (!this.#maySend || standing === 'less' || standing === 'other') this.#outbox.restore(lastSequence);
    if (standing === 'less') await this.#goBack(store, { from: counter + 1, to: position });
    else if (standing === 'other') this.#reread(Math.max(oldest, position - REREAD));
    else if (standing === 'trimmed') this.#skip({ from: position + 1, to: oldest - 1 });
    return standing !== 'more' || this.#position.isReading();
  }

  #asked(counter: number): { counter: number; origin: string; incarnation: string } {
    return { counter, origin: this.#parts.nodeId, incarnation: this.subject.incarnation };
  }

  /** Returns whether an entry is one of this node, a new one of another node, or one to be dropped. */
  #kindOf(entry: StoredEntry, now: SeenEntries): 'own' | 'new' | 'dropped' {
    const { nodeId, seal, counts } = this.#parts;
    const { stream, incarnation } = this.subject;
    if (!isGenuine(seal, stream, entry) || !this.subject.accepts(entry.fields)) counts.rejected(stream);
    else if (this.#times.isPutBack(entry)) counts.rejected(stream);
    else if (entry.origin === nodeId && entry.incarnation === incarnation) return 'own';
    else if (this.#seen.has(entry) || now.has(entry)) counts.duplicate();
    else return 'new';
    return 'dropped';
  }

  /** A new node applies the last entries. One that resumes only marks those up to its position as seen. */
  async #start(store: ClusterStore): Promise<void> {
    const { stream, history, position } = this.subject;
    const { entries, counter } = await store.tail(stream, Math.max(history, MOST_RECALLED));
    if (position === undefined) {
      this.#times.told((await store.look(stream, this.#asked(0))).nowMs);
      const taken = history === 0 ? [] : entries.slice(-history);
      const behind = (taken[0]?.counter ?? counter + 1) - 1;
      this.#moveTo(behind);
      return this.receive(taken, behind);
    }
    for (const entry of entries)
      if (entry.counter <= position && isGenuine(this.#parts.seal, stream, entry)) this.#seen.add(entry);
    this.#position.counter = position;
    await this.verify(store);
  }

  #acknowledge(
    entries: readonly SealedEntry[],
    { counters, isNew }: { readonly counters: readonly number[]; readonly isNew: boolean },
  ): void {
    const acknowledged = entries.map(({ sequence }, i) => ({ sequence, counter: counters[i] ?? 0 }));
    const taken = acknowledged.filter(({ counter }) => counter > 0);
    this.#outbox.acknowledge(entries, performance.now());
    this.#parts.counts.sent(taken.length);
    // The counter of an entry that the store had before is learnt when the entry is read.
    this.subject.acknowledged(taken);
    if (isNew && taken.length < entries.length) {
      this.#parts.counts.forged(this.subject.stream);
      this.#parts.counts.dropped(this.subject.stream, entries.length - taken.length);
    }
  }

  #unsealed(entry: { readonly sequence: number; readonly fields: readonly string[] }): SealedEntry {
    return { ...entry, origin: this.#parts.nodeId, incarnation: this.subject.incarnation, mac: '' };
  }

  /** Seals entries when they are sent: after a long wait they must not be older than the entries of other nodes. */
  #sealed(entries: readonly SealedEntry[]): readonly SealedEntry[] {
    const seal = { ...this.#parts.seal, madeMs: this.#times.nowMs };
    return entries.map((entry) => sealEntry(seal, this.subject.stream, entry));
  }

  /** Goes back after the store has lost its last entries. Those before them may have been replaced, too. */
  async #goBack(store: ClusterStore, gap: Gap): Promise<void> {
    const last = gap.from - 1;
    const { mac, oldest } = await store.look(this.subject.stream, this.#asked(last));
    if (this.#position.counter !== gap.to) return;
    if (last > 0 && mac !== this.#position.macAt(last)) return this.#reread(Math.max(oldest, last - REREAD));
    this.#told(gap);
    this.#goBackTo(last);
  }

  /** Reads again from a counter on, where the store has other entries. Those that are known are dropped then. */
  #reread(from: number): void {
    this.#told({ from, to: this.#position.counter ?? 0 });
    this.#goBackTo(from - 1);
  }

  #goBackTo(position: number): void {
    this.#parts.counts.resynced();
    this.#moveTo(position);
  }

  /** Skips entries that the store has trimmed before they were read. */
  #skip(gap: Gap): void {
    this.#told(gap);
    this.#moveTo(gap.to);
  }

  #moveTo(position: number): void {
    this.#position.counter = position;
    this.subject.apply([], position, position);
  }

  #told(gap: Gap): void {
    this.gaps += 1;
    this.#parts.counts.gap(this.subject.stream, gap);
    this.subject.tellGap(gap);
  }
}

function remote({ origin, sequence, fields, counter }: StoredEntry): RemoteEntry {
  return { origin, sequence, fields, counter };
}
