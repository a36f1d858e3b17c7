import type { Memory } from '../header.ts';
import { WakeUp } from '../wake-up.ts';
import type { Changes } from './changes.ts';
import { type DictionaryValue, Payload } from './entry.ts';
import { WAKE_WORD } from './layout.ts';
import type { Table } from './table.ts';

/** An entry that was changed here, as it is now. */
interface EntryChange {
  /** Grows with each change. */
  readonly sequence: number;
  readonly key: string;
  /** `undefined`: the entry was deleted, or has expired. */
  readonly value: DictionaryValue | undefined;
  /** The time that is left; 0: it never expires. */
  readonly ttlMs: number;
  /** Up to which counter the dictionary had the stream when this was changed. */
  readonly seen: number;
}

/** What the stream of the store says of a key. */
export interface EntryState extends Omit<EntryChange, 'sequence' | 'seen'> {
  readonly counter: number;
  /** This dictionary has written it. */
  readonly isOwn: boolean;
}

/** What came of states: keys whose changes here were given up, and how many values have no room. */
interface Applied {
  readonly overtaken: readonly string[];
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

/** Buckets that are looked through per acquisition of the lock. */
const MOST_BUCKETS = 256;

/**
 * The side of a dictionary that talks to the store of a cluster. What threads write meanwhile are changes, which wait for the store.
 * Every method may throw the `DictionaryFault` "busy".
 */
export class SharedEntries {
  readonly #table: Table;
  readonly #changes: Changes;
  readonly #parts: SharedEntriesParts;
  readonly #wakeUp: WakeUp;
  readonly #payload = new Payload();
  /** The store that this thread knows of. */
  #store = 0;

  constructor(parts: SharedEntriesParts) {
    this.#parts = parts;
    this.#table = parts.table;
    this.#changes = parts.table.changes as Changes;
    this.#wakeUp = new WakeUp(parts.memory.i32, WAKE_WORD);
  }

  /**
   * The dictionary is shared from now on, through a store with this number; all entries become changes if it was not before. Those
   * with more than `mostBytes` bytes of key and text cannot be written any more.
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

  /** The dictionary is not shared any more. */
  unshare(): void {
    this.#store = 0;
    this.#parts.locked(() => {
      if (!this.#changes.isShared) return;
      this.#settleAll();
      this.#changes.store = 0;
    });
  }

  /** Calls `listener` after changes in any thread, once for several in quick succession. Returns the function that ends it. */
  watch(listener: () => void): () => void {
    return this.#wakeUp.listen(listener);
  }

  /** Gives the first changes that wait for the store, by ascending sequence. */
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

  /** A change waits no more: the store has it, or has refused it. False: it does not wait any more, or has changed again. */
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

  /** The birth of the stream that the entries are from; 0: it is not known. Only the thread that talks to the store sets it. */
  get birth(): number {
    return this.#changes.birth;
  }

  set birth(birth: number) {
    this.#changes.birth = birth;
  }

  /** The stream was made anew: nothing that was seen of it counts. */
  forget(): void {
    this.#shared(() => this.#disown());
  }

  /**
   * Applies states. With a position they are the next of the stream, which the dictionary then has up to there; without, they are the
   * newest of some keys, and count whatever was applied before. A change that waits is given up for a state that is not own and that
   * it has not seen. `undefined`: the dictionary is not shared with this store any more.
   */
  apply(states: readonly EntryState[], position: number | undefined): Applied | undefined {
    return this.#shared(() => {
      const overtaken: string[] = [];
      let unfit = 0;
      for (const state of states) {
        this.#payload.encode(state.key, typeof state.value === 'string' ? state.value : '');
        const entry = this.#table.lookUp(this.#payload);
        if (this.#isKnown(state, entry, position === undefined)) continue;
        if (entry !== 0 && this.#isOvertaken(entry, state)) overtaken.push(state.key);
        if (state.value !== undefined)
          unfit += this.#replace(entry, { ...state, value: state.value }) ? 0 : 1;
        else if (entry !== 0) this.#table.remove(entry);
      }
      if (position !== undefined) this.#moveTo(position);
      return { overtaken, unfit };
    });
  }

  /** Removes the entries whose keys the store has not, unless they wait for it. */
  keepOnly(keys: ReadonlySet<string>): void {
    this.#eachUnsent((entry) => {
      if (!keys.has(this.#table.key(entry))) this.#table.remove(entry);
    });
  }

  /** The entries with other keys than these wait for the store. */
  renewOthers(keys: ReadonlySet<string>): void {
    this.#eachUnsent((entry) => {
      if (this.#mayBeSent(entry) && !keys.has(this.#table.key(entry))) this.#changes.add(entry);
    });
  }

  /**
   * The entries with these keys wait for the store, as having seen all that it has.
   */
  repair(keys: ReadonlySet<string>): void {
    for (const key of keys) {
      this.#payload.encode(key);
      this.#shared(() => {
        const entry = this.#table.lookUp(this.#payload);
        // What is not here may have been evicted.
        if (entry === 0 || this.#changes.waits(entry) || !this.#mayBeSent(entry)) return;
        this.#changes.add(entry);
      });
    }
  }

  /** Calls `act`, which may remove the entry, with all that do not wait. Between parts others may write: what they change waits. */
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

  /** Tells whether what is here of a key is at least as new as a state of the stream, or the same as one of all. */
  #isKnown({ counter, isOwn, value }: EntryState, entry: number, isOfAll: boolean): boolean {
    if (entry === 0) return value === undefined;
    const known = this.#changes.counterOf(entry);
    if (this.#changes.waits(entry)) return isOwn || counter <= known;
    if (!isOfAll) return counter <= known;
    return counter === known && value === this.#table.value(entry);
  }

  #isOvertaken(entry: number, { value }: EntryState): boolean {
    return this.#changes.waits(entry) && value !== this.#describe(entry, this.#parts.now()).value;
  }

  /**
   * Stores the value of the payload, instead of that of an entry (0: there is none). Without a counter it is a change. False: there is
   * no room for it.
   */
  #replace(entry: number, { value, ttlMs, counter }: StoredEntry): boolean {
    const { evict, now } = this.#parts;
    const nowMs = now();
    const expiresMs = ttlMs === 0 ? 0 : nowMs + ttlMs;
    const stored = { value, expiresMs, ...(counter !== undefined && { counter }) };
    if (this.#table.put(this.#payload, stored, { replaced: entry, nowMs, evict })) return true;
    // No value is better than one that no other gateway has.
    if (entry !== 0) this.#table.remove(entry);
    return false;
  }

  /** Deletes an entry (0: there is none) of the key of the payload, as a change. */
  #delete(entry: number): void {
    if (entry !== 0) return this.#table.bury(entry, this.#changes);
    const { evict, now } = this.#parts;
    if (!this.#table.reserve(this.#payload.length, { replaced: 0, nowMs: now(), evict })) return;
    // Expired from the beginning: nobody must see it, even if this thread dies.
    this.#table.bury(this.#table.insert(this.#payload, { value: 0, expiresMs: 1 }), this.#changes);
  }

  /** If this is back, the store has lost what it had behind it: the counters come again, for other entries. */
  #moveTo(position: number): void {
    const changes = this.#changes;
    const isBack = position < changes.position;
    changes.position = position;
    if (!isBack) return;
    for (const entry of this.#entriesIn(0, this.#table.geometry.buckets))
      changes.setCounter(entry, Math.min(changes.counterOf(entry), position));
  }

  /** Nothing is known of a store. */
  #disown(): void {
    for (const entry of this.#entriesIn(0, this.#table.geometry.buckets)) this.#changes.setCounter(entry, 0);
    this.#changes.position = 0;
  }

  /** Nothing waits any more. */
  #settleAll(): void {
    for (const entry of this.#entriesIn(0, this.#table.geometry.buckets))
      this.#table.settle(entry, this.#changes);
  }

  /** All entries become changes, in the order in which they were written. */
  #changeAll(): void {
    for (let entry = this.#table.oldest; entry !== 0; entry = this.#table.newer(entry))
      if (!this.#changes.waits(entry) && this.#mayBeSent(entry)) this.#changes.add(entry);
  }

  /** What is too large for the store stays here. */
  #mayBeSent(entry: number): boolean {
    const fits = this.#table.payloadBytes(entry) <= this.#changes.mostBytes;
    return fits && !this.#table.isExpired(entry, this.#parts.now());
  }

  /** Gives the entries of some buckets; the one that was given last may be removed. */
  *#entriesIn(from: number, end: number): Generator<number> {
    for (let bucket = from; bucket < end; bucket++) {
      for (let entry = this.#table.firstIn(bucket), next = 0; entry !== 0; entry = next) {
        next = this.#table.nextInBucket(entry);
        yield entry;
      }
    }
  }
}
