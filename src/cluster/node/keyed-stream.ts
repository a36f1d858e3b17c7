import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type ClusterStore,
  isGenuine,
  keyedFields,
  type KeyWrite,
  keyWriteOf,
  type SealedEntry,
  sealEntry,
  type StoredEntry,
  StoreLost,
  StoreRefused,
} from '../stores/index.ts';
import { EntryTimes } from './entry-times.ts';
import { HeldKeys } from './held-keys.ts';
import type { KeyChange, KeyedSubject, KeyState } from './keyed-subject.ts';
import { gapIn, type NodeStream, type StreamParts } from './node-stream.ts';
import { ReadPosition } from './read-position.ts';
import { SeenEntries } from './seen-entries.ts';
import type { Gap } from './subject.ts';

/** Maximum changes, and characters, of a call to the store, which must end in time. A larger change is sent alone. */
const MOST_SENT = 64;
const MOST_SENT_CHARACTERS = 131_072;
/** Maximum entries that are applied in one go: a lock is held meanwhile. */
const MOST_APPLIED = 250;
/** How long an acknowledged change is remembered: a store that fails over may have lost it. */
const KEPT_MS = 60_000;
const MOST_KEPT = 10_000;
const MOST_KEPT_CHARACTERS = 8_388_608;
/** Maximum keys that are read of one stream, some perhaps twice. If there are more, they are not those of nodes. */
const MOST_KEYS = 2_000_000;
/** Attempts to apply states: the lock of a zone may be held for a moment. */
const ATTEMPTS = 10;

/** A local change that the store has acknowledged. */
interface SentChange {
  readonly change: KeyChange;
  readonly mac: string;
  readonly atMs: number;
}

/** The present entry in the store of a key with an acknowledged local change. */
interface KeyInStore extends Pick<KeyState, 'counter' | 'isOwn'> {
  readonly mac: string;
}

/** A genuine entry, and the state of a key that it sets. */
interface ReadState {
  readonly entry: StoredEntry;
  readonly state: KeyState;
}

/** A stream of entries that set keys. The last entry of each key counts. After a gap, all keys are read again. */
export class KeyedStream implements NodeStream {
  readonly subject: KeyedSubject;
  readonly #parts: StreamParts;
  readonly #position = new ReadPosition();
  readonly #seen = new SeenEntries();
  /** Acknowledged changes by key, the oldest first. */
  readonly #acknowledged = new Map<string, SentChange>();
  #acknowledgedCharacters = 0;
  readonly #times = new EntryTimes();
  readonly #held = new HeldKeys();
  #maySend = false;
  #beginning: Promise<void> | undefined;
  #sending: Promise<void> | undefined;
  #reading: Promise<void> | undefined;
  gaps = 0;

  constructor(subject: KeyedSubject, parts: StreamParts) {
    this.subject = subject;
    this.#parts = parts;
  }

  get position(): number | undefined {
    return this.#position.counter;
  }

  get waiting(): number {
    return this.subject.changes(MOST_SENT).length;
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
    // The subject keeps the changes that wait.
  }

  collect(): void {
    // The subject keeps the local changes until they are sent.
  }

  begin(store: ClusterStore): Promise<void> {
    this.#beginning ??= this.#begin(store).finally(() => (this.#beginning = undefined));
    return this.#beginning;
  }

  async verify(store: ClusterStore): Promise<boolean> {
    const position = this.#position.counter ?? 0;
    const state = await store.look(this.subject.stream, this.#asked(position));
    const { counter, oldest, nowMs, birth } = state;
    this.#times.told(nowMs);
    // Entries were read meanwhile: the state is out of date.
    if (this.#position.counter !== position) return true;
    const standing = this.#position.standing(state, this.subject.birth);
    if (this.subject.birth === 0) this.subject.birth = birth;
    if (standing === 'less') this.#missed({ from: counter + 1, to: position });
    else if (standing === 'other') this.#missed({ from: position, to: position });
    else if (standing === 'trimmed') this.#missed({ from: position + 1, to: oldest - 1 });
    else return standing !== 'more' || this.#position.isReading();
    await this.#readAll(store);
    return true;
  }

  send(store: ClusterStore): Promise<void> {
    // A change acknowledged while all keys are read would be newer than the keys that were read.
    if (!this.#maySend || this.#reading) return Promise.resolve();
    this.#sending ??= this.#send(store).finally(() => (this.#sending = undefined));
    return this.#sending;
  }

  async receive(entries: readonly StoredEntry[], behind: number): Promise<void> {
    if (this.#position.counter !== behind) return;
    if (entries.length < MOST_APPLIED) this.#position.hasAll();
    else this.isBehind();
    const gap = gapIn(entries, behind);
    if (gap) return this.#missed(gap);
    for (let at = 0; at < entries.length; at += MOST_APPLIED) {
      if (at > 0) await nextTurn();
      if (!this.#apply(entries.slice(at, at + MOST_APPLIED))) return this.isBehind();
    }
  }

  async #begin(store: ClusterStore): Promise<void> {
    if (this.#position.counter === undefined) await this.#readAll(store);
    else await this.verify(store);
    this.#maySend = true;
  }

  #readAll(store: ClusterStore): Promise<void> {
    this.#reading ??= this.#readKeys(store).finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** Takes over the keys of the store. Others are removed or, if the store was emptied, sent again. */
  async #readKeys(store: ClusterStore): Promise<void> {
    const { stream } = this.subject;
    await this.#sending?.catch(() => undefined);
    const { counter, nowMs, birth } = await store.look(stream, this.#asked(0));
    this.#times.told(nowMs);
    // An emptied store must not empty the nodes. Its birth shows this even if nodes have written to it since.
    const isEmptied = counter === 0 || ![0, birth].includes(this.subject.birth);
    if (isEmptied) await this.#now(() => this.subject.forget() || undefined);
    const live = new Set<string>();
    const putBack = new Set<string>();
    const held = new Map<string, KeyInStore>();
    let scanned = 0;
    for (let from: string | undefined = '0'; from !== undefined;) {
      const { entries, next } = await store.keys(stream, from);
      from = next;
      scanned += entries.length;
      const found = entries.flatMap((entry) => this.#unlessPutBack(entry, putBack));
      for (const { entry, state } of found) {
        this.#held.hold(state, entry);
        // A later entry is read once more from the stream, with all that precede it.
        if (entry.counter <= counter) this.#seen.add(entry);
        if (state.value !== undefined) live.add(state.key);
        if (this.#acknowledged.has(state.key)) held.set(state.key, { ...state, mac: entry.mac });
      }
      if (scanned > MOST_KEYS) throw new StoreRefused(`it has more than ${MOST_KEYS} keys`);
      await this.#applied(found.map(({ state }) => state));
    }
    const kept = new Set([...live, ...putBack]);
    const settled = (): boolean => (isEmptied ? this.subject.renewOthers(kept) : this.subject.keepOnly(kept));
    await this.#now(() => settled() || undefined);
    await this.#applied([], counter);
    await this.#repair(putBack);
    this.subject.birth = birth;
    this.#renewLost(held, isEmptied);
    this.#position.counter = counter;
    this.#position.hasAll();
  }

  /** Returns the state of an entry. If this node has a newer entry of the key, adds the key to `putBack` instead. */
  #unlessPutBack(entry: StoredEntry, putBack: Set<string>): readonly ReadState[] {
    const [read] = this.#stateOf(entry);
    if (!read) return [];
    const { key } = read.state;
    if (!this.#held.isOlder(key, entry, read.state.isOwn || this.#seen.has(entry))) return [read];
    this.#parts.counts.rejected(this.subject.stream);
    putBack.add(key);
    return [];
  }

  /** Sends the values of this node again: new nodes must not take over the old ones that were put back. */
  async #repair(putBack: ReadonlySet<string>): Promise<void> {
    if (putBack.size === 0) return;
    await this.#now(() => this.subject.repair(putBack) || undefined);
    const deleted = { value: undefined, ttlMs: 0, seen: 0, sequence: 0 };
    for (const key of putBack) if (this.#held.isDeleted(key)) this.subject.renew({ key, ...deleted });
  }

  /** Makes acknowledged changes again that the store lost in a failover: it has no entry of the key or an older one. */
  #renewLost(held: ReadonlyMap<string, KeyInStore>, isEmptied: boolean): void {
    for (const [key, { change, mac, atMs }] of this.#acknowledged) {
      const { counter = 0, mac: other = '', isOwn = false } = held.get(key) ?? {};
      const leftMs = change.ttlMs - Math.ceil(performance.now() - atMs);
      const isOver = change.ttlMs > 0 && leftMs <= 0;
      const isLater = !isOwn && counter > (isEmptied ? 0 : change.seen);
      if (mac === other || isLater || isOver) continue;
      this.subject.renew({ ...change, ttlMs: Math.max(0, leftMs) });
    }
    for (const key of this.#acknowledged.keys()) this.#forget(key);
  }

  async #send(store: ClusterStore): Promise<void> {
    const { stream, incarnation } = this.subject;
    const { nodeId, seal, counts } = this.#parts;
    for (;;) {
      const changes = ofOneCall(this.subject.changes(MOST_SENT));
      if (changes.length === 0 || this.#reading) return;
      const entries = changes.map((change) =>
        sealEntry({ ...seal, madeMs: this.#times.nowMs }, stream, {
          origin: nodeId,
          incarnation,
          sequence: change.sequence,
          fields: keyedFields(change),
        }),
      );
      const counters = await store.write(stream, entries);
      counts.sent(counters.filter((counter) => counter > 0).length);
      for (const [at, change] of changes.entries()) {
        if ((counters[at] ?? 0) > 0) this.#isAcknowledged(change, entries[at] as SealedEntry);
        else if (this.subject.superseded(change)) counts.conflict(stream, change.key);
      }
    }
  }

  #isAcknowledged(change: KeyChange, entry: SealedEntry): void {
    const { mac } = entry;
    const nowMs = performance.now();
    this.#held.hold(change, entry);
    this.subject.acknowledged(change);
    this.#forget(change.key);
    this.#acknowledged.set(change.key, { change, mac, atMs: nowMs });
    this.#acknowledgedCharacters += charactersOf(change);
    for (const [key, { atMs }] of this.#acknowledged) {
      const fits =
        this.#acknowledged.size <= MOST_KEPT && this.#acknowledgedCharacters <= MOST_KEPT_CHARACTERS;
      if (nowMs - atMs < KEPT_MS && fits) return;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    const acknowledged = this.#acknowledged.get(key);
    if (acknowledged) this.#acknowledgedCharacters -= charactersOf(acknowledged.change);
    this.#acknowledged.delete(key);
  }

  /** Applies some entries. Returns false if they have to be read again. */
  #apply(entries: readonly StoredEntry[]): boolean {
    const now = new SeenEntries();
    const fresh: StoredEntry[] = [];
    const states: KeyState[] = [];
    let position = this.#position.counter ?? 0;
    for (const entry of entries) {
      if (entry.counter <= position) continue;
      position = entry.counter;
      this.#position.remember(entry);
      const [read] = this.#stateOf(entry);
      if (!read || this.#isStale(read.entry)) continue;
      this.#times.remember(entry);
      if (read.state.isOwn) continue;
      if (this.#seen.has(entry) || now.has(entry)) {
        this.#parts.counts.duplicate();
        continue;
      }
      now.add(entry);
      fresh.push(entry);
      states.push(read.state);
      // A change that another node has overwritten must not be sent again.
      this.#forget(read.state.key);
    }
    const superseded = this.subject.apply(states, position);
    if (!superseded) return false;
    this.#tellConflicts(superseded);
    for (const [at, entry] of fresh.entries()) {
      this.#seen.add(entry);
      this.#held.hold(states[at] as KeyState, entry);
    }
    this.#parts.counts.received(fresh.length);
    this.#position.counter = position;
    return true;
  }

  #isStale(entry: StoredEntry): boolean {
    const isStale = this.#times.isPutBack(entry);
    if (isStale) this.#parts.counts.rejected(this.subject.stream);
    return isStale;
  }

  async #applied(states: readonly KeyState[], position?: number): Promise<void> {
    this.#tellConflicts(await this.#now(() => this.subject.apply(states, position)));
    this.#parts.counts.received(states.filter(({ isOwn }) => !isOwn).length);
    await nextTurn();
  }

  /** Repeats `act` until it returns a value. Throws `StoreLost` if it does not in several attempts. */
  async #now<T>(act: () => T | undefined): Promise<T> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const done = act();
      if (done !== undefined) return done;
      await nextTurn();
    }
    throw new StoreLost(`"${this.subject.stream}" is busy`);
  }

  #tellConflicts(keys: readonly string[]): void {
    for (const key of keys) this.#parts.counts.conflict(this.subject.stream, key);
  }

  /** Returns the state that an entry sets; an empty list if the entry is rejected. */
  #stateOf(entry: StoredEntry): readonly ReadState[] {
    const { nodeId, seal, counts } = this.#parts;
    const { stream, incarnation } = this.subject;
    const write = keyWriteOf(entry.fields);
    if (!write || !isGenuine(seal, stream, entry) || !this.subject.accepts(write)) {
      counts.rejected(stream);
      return [];
    }
    const isOwn = entry.origin === nodeId && entry.incarnation === incarnation;
    return [{ entry, state: { ...this.#left(write, entry), counter: entry.counter, isOwn } }];
  }

  /** Returns a write with the time that is left. A key whose time is over is returned as deleted. */
  #left({ key, value, ttlMs }: KeyWrite, { storedMs = 0 }: StoredEntry): Omit<KeyWrite, 'seen'> {
    if (ttlMs === 0) return { key, value, ttlMs };
    const ageMs = this.#times.nowMs - storedMs;
    const leftMs = Math.min(ttlMs, Math.ceil(ttlMs - ageMs));
    return leftMs > 0 ? { key, value, ttlMs: leftMs } : { key, value: undefined, ttlMs: 0 };
  }

  #asked(counter: number): { counter: number; origin: string; incarnation: string } {
    return { counter, origin: this.#parts.nodeId, incarnation: this.subject.incarnation };
  }

  /** Reports a gap, and lets all keys be read: they contain what was missed. */
  #missed(gap: Gap): void {
    this.gaps += 1;
    this.#parts.counts.keysMissed(this.subject.stream, gap);
    this.#parts.counts.resynced();
    this.#position.counter = undefined;
    this.isBehind();
  }
}

function ofOneCall(changes: readonly KeyChange[]): readonly KeyChange[] {
  let characters = 0;
  const most = changes.findIndex((change) => (characters += charactersOf(change)) > MOST_SENT_CHARACTERS);
  return most < 0 ? changes : changes.slice(0, Math.max(1, most));
}

function charactersOf({ key, value = '' }: KeyChange): number {
  return key.length + value.length;
}
