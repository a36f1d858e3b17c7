import type { Memory } from '../header.ts';
import { WakeUp } from '../wake-up.ts';
import type { Changes } from './changes.ts';
import { type DictionaryValue, Payload } from './entry.ts';
import { WAKE_WORD } from './layout.ts';
import type { Table } from './table.ts';

/** A local change of an entry, with the present value. */
interface EntryChange {
  /** Grows with each change. */
  readonly sequence: number;
  readonly key: string;
  /** `undefined`: the entry was deleted or has expired. */
  readonly value: DictionaryValue | undefined;
  /** The time that is left; 0: it never expires. */
  readonly ttlMs: number;
  /** The counter up to which the dictionary had the stream when the change was made. */
  readonly seen: number;
}

/** The state of a key in the stream of the store. */
export interface EntryState extends Omit<EntryChange, 'sequence' | 'seen'> {
  readonly counter: number;
  /** The entry was written by this incarnation of the dictionary. */
  readonly isOwn: boolean;
}

/** The result of applying states: the keys of superseded changes, and the number of values without room. */
interface Applied {
  readonly superseded: readonly string[];
  readonly unfit: number;
}

/** A value that is to be stored. */
interface StoredEntry {
  readonly value: DictionaryValue;
  readonly ttlMs: number;
  readonly counter?: number;
}

interface SharedEntriesParts {
  readonly memory: Memory;
  readonly table: Table;
  readonly evict: boolean;
  readonly now: () => number;
  readonly locked: <T>(act: () => T) => T;
}

/** Buckets that are read per acquisition of the lock. */
const MOST_BUCKETS = 256;

/**
 * The interface of a dictionary to the store of a cluster. Writes of threads are local changes, which wait for the
 * store. Every method may throw the `DictionaryFault` "busy".
 */
export class SharedEntries {
  readonly #table: Table;
  readonly #changes: Changes;
  readonly #parts: SharedEntriesParts;
  readonly #wakeUp: WakeUp;
  readonly #payload = new Payload();
  /** The store that this thread shares the dictionary with. */
  #store = 0;

  constructor(parts: SharedEntriesParts) {
    this.#parts = parts;
    this.#table = parts.table;
    this.#changes = parts.table.changes as Changes;
    this.#wakeUp = new WakeUp(parts.memory.i32, WAKE_WORD);
  }

  /**
   * Shares the dictionary through the store with this number. If it was not shared before, all entries become changes.
   * From now on, an entry may have at most `mostBytes` bytes of key and text.
   */
  share(store: number, mostBytes: number): void {
    const changes = this.#changes;
    this.#store = store;
    this.#parts.locked(() => {
      changes.mostBytes = mostBytes;
      if (changes.store === store) return;
      this.#settleAll();
      this.#disown();
      changes.birth = 0;
      changes.store = 0;
      this.#changeAll();
      changes.store = store;
    });
  }

  /** True while a thread shares the dictionary. */
  get isShared(): boolean {
    return this.#changes.isShared;
  }

  /** Ends the sharing of the dictionary. */
  unshare(): void {
    this.#store = 0;
    this.#parts.locked(() => {
      if (!this.#changes.isShared) return;
      this.#settleAll();
      this.#changes.store = 0;
    });
  }

  /** Calls `listener` after changes in any thread, once for several at a time. Returns the function that ends this. */
  watch(listener: () => void): () => void {
    return this.#wakeUp.listen(listener);
  }

  /** Returns the first changes that wait for the store, by ascending sequence. */
  changes(most: number): readonly EntryChange[] {
    const given = this.#shared(() => {
      const nowMs = this.#parts.now();
      const found: EntryChange[] = [];
      for (
        let entry = this.#changes.first;
        entry !== 0 && found.length < most;
        entry = this.#changes.later(entry)
      )
        found.push(this.#describe(entry, nowMs));
      return found;
    });
    return given ?? [];
  }

  /** Ends the waiting of a change that the store has taken or refused. False: it no longer waits, or is newer. */
  settle({ key, sequence }: Pick<EntryChange, 'key' | 'sequence'>): boolean {
    this.#payload.encode(key);
    const isSettled = this.#shared(() => {
      const entry = this.#table.lookUp(this.#payload);
      if (entry === 0 || this.#changes.changeOf(entry) !== sequence) return false;
      this.#table.settle(entry, this.#changes);
      return true;
    });
    return isSettled === true;
  }

  /** Makes a change again, unless a later one of the key waits. */
  renew({ key, value, ttlMs }: Pick<EntryChange, 'key' | 'value' | 'ttlMs'>): void {
    this.#payload.encode(key, typeof value === 'string' ? value : '');
    this.#shared(() => {
      const entry = this.#table.lookUp(this.#payload);
      if (entry !== 0 && this.#changes.waits(entry)) return;
      if (value === undefined) this.#delete(entry);
      else this.#replace(entry, { value, ttlMs });
    });
  }

  /** The birth of the stream that the entries are from; 0: unknown. Only the thread that talks to the store sets it. */
  get birth(): number {
    return this.#changes.birth;
  }

  set birth(birth: number) {
    this.#changes.birth = birth;
  }

  /** Forgets which counters were seen, since the stream was created again. */
  forget(): void {
    this.#shared(() => this.#disown());
  }

  /**
   * Applies states. With a position they are the next ones of the stream, which the dictionary then has up to there.
   * Without, they are the newest of some keys, and are applied whatever was applied before. A waiting change is given
   * up for a state that it has not seen and that is not own. `undefined`: the dictionary is no longer shared with this
   * store.
   */
  apply(states: readonly EntryState[], position: number | undefined): Applied | undefined {
    return this.#shared(() => {
      const superseded: string[] = [];
      let unfit = 0;
      for (const state of states) {
        this.#payload.encode(state.key, typeof state.value === 'string' ? state.value : '');
        const entry = this.#table.lookUp(this.#payload);
        if (this.#isKnown(state, entry, position === undefined)) continue;
        if (entry !== 0 && this.#isSuperseded(entry, state)) superseded.push(state.key);
        if (state.value !== undefined)
          unfit += this.#replace(entry, { ...state, value: state.value }) ? 0 : 1;
        else if (entry !== 0) this.#table.remove(entry);
      }
      if (position !== undefined) this.#moveTo(position);
      return { superseded, unfit };
    });
  }

  /** Removes all entries with other keys, unless they wait for the store. */
  keepOnly(keys: ReadonlySet<string>): void {
    this.#eachUnsent((entry) => {
      if (!keys.has(this.#table.key(entry))) this.#table.remove(entry);
    });
  }

  /** Lets all entries with other keys wait for the store. */
  renewOthers(keys: ReadonlySet<string>): void {
    this.#eachUnsent((entry) => {
      if (this.#mayBeSent(entry) && !keys.has(this.#table.key(entry))) this.#changes.add(entry);
    });
  }

  /** Lets the entries with these keys wait for the store, as changes that have seen its whole stream. */
  repair(keys: ReadonlySet<string>): void {
    for (const key of keys) {
      this.#payload.encode(key);
      this.#shared(() => {
        const entry = this.#table.lookUp(this.#payload);
        // An entry that is missing here may have been evicted.
        if (entry === 0 || this.#changes.waits(entry) || !this.#mayBeSent(entry)) return;
        this.#changes.add(entry);
      });
    }
  }

  /** Calls `act`, which may remove the entry, for all entries that do not wait. Others may write between parts. */
  #eachUnsent(act: (entry: number) => void): void {
    const { buckets } = this.#table.geometry;
    for (let from = 0; from < buckets; from += MOST_BUCKETS)
      this.#shared(() => {
        for (const entry of this.#entriesIn(from, Math.min(from + MOST_BUCKETS, buckets)))
          if (!this.#changes.waits(entry)) act(entry);
      });
  }

  /** Runs `act` under the lock if the dictionary is shared with the store of this thread. */
  #shared<T>(act: () => T): T | undefined {
    return this.#parts.locked(() =>
      this.#store !== 0 && this.#changes.store === this.#store ? act() : undefined,
    );
  }

  #describe(entry: number, nowMs: number): EntryChange {
    const table = this.#table;
    const expiresMs = table.expiresMs(entry);
    const isHidden = table.isExpired(entry, nowMs);
    return {
      sequence: this.#changes.changeOf(entry),
      key: table.key(entry),
      value: isHidden ? undefined : table.value(entry),
      ttlMs: isHidden || expiresMs === 0 ? 0 : expiresMs - nowMs,
      seen: this.#changes.counterOf(entry),
    };
  }

  /** Returns whether this dictionary has a state already: a newer or the same one; if all keys are read, the same. */
  #isKnown({ counter, isOwn, value }: EntryState, entry: number, isOfAll: boolean): boolean {
    if (entry === 0) return value === undefined;
    const known = this.#changes.counterOf(entry);
    if (this.#changes.waits(entry)) return isOwn || counter <= known;
    if (!isOfAll) return counter <= known;
    return counter === known && value === this.#table.value(entry);
  }

  #isSuperseded(entry: number, { value }: EntryState): boolean {
    return this.#changes.waits(entry) && value !== this.#describe(entry, this.#parts.now()).value;
  }

  /**
   * Stores the value of the payload in place of an entry (0: a new one). Without a counter it is a local change. False:
   * there is no room.
   */
  #replace(entry: number, { value, ttlMs, counter }: StoredEntry): boolean {
    const { evict, now } = this.#parts;
    const nowMs = now();
    const expiresMs = ttlMs === 0 ? 0 : nowMs + ttlMs;
    const stored = { value, expiresMs, ...(counter !== undefined && { counter }) };
    if (this.#table.put(this.#payload, stored, { replaced: entry, nowMs, evict })) return true;
    // A missing value is better than one that no other gateway has.
    if (entry !== 0) this.#table.remove(entry);
    return false;
  }

  /** Deletes an entry (0: not there yet) with the key of the payload, as a local change. */
  #delete(entry: number): void {
    if (entry !== 0) return this.#table.bury(entry, this.#changes);
    const { evict, now } = this.#parts;
    if (!this.#table.reserve(this.#payload.length, { replaced: 0, nowMs: now(), evict })) return;
    // Expired from the beginning, so that no thread sees it even if this one dies.
    this.#table.bury(this.#table.insert(this.#payload, { value: 0, expiresMs: 1 }), this.#changes);
  }

  /** Sets the position. A lower one means that the store has lost entries: their counters will be given to others. */
  #moveTo(position: number): void {
    const changes = this.#changes;
    const isBack = position < changes.position;
    changes.position = position;
    if (!isBack) return;
    for (const entry of this.#entriesIn(0, this.#table.geometry.buckets))
      changes.setCounter(entry, Math.min(changes.counterOf(entry), position));
  }

  /** Forgets all counters, since the store is another one. */
  #disown(): void {
    for (const entry of this.#entriesIn(0, this.#table.geometry.buckets)) this.#changes.setCounter(entry, 0);
    this.#changes.position = 0;
  }

  /** Ends the waiting of all entries. */
  #settleAll(): void {
    for (const entry of this.#entriesIn(0, this.#table.geometry.buckets))
      this.#table.settle(entry, this.#changes);
  }

  /** Makes all entries local changes, in the order in which they were written. */
  #changeAll(): void {
    for (let entry = this.#table.oldest; entry !== 0; entry = this.#table.newer(entry))
      if (!this.#changes.waits(entry) && this.#mayBeSent(entry)) this.#changes.add(entry);
  }

  /** Returns whether the store may get the entry. Too large ones stay on this gateway. */
  #mayBeSent(entry: number): boolean {
    const fits = this.#table.payloadBytes(entry) <= this.#changes.mostBytes;
    return fits && !this.#table.isExpired(entry, this.#parts.now());
  }

  /** Yields the entries of some buckets. The entry that was yielded last may be removed. */
  *#entriesIn(from: number, end: number): Generator<number> {
    for (let bucket = from; bucket < end; bucket++) {
      for (let entry = this.#table.firstIn(bucket), next = 0; entry !== 0; entry = next) {
        next = this.#table.nextInBucket(entry);
        yield entry;
      }
    }
  }
}
