import type { Memory } from '../header.ts';
import { Blocks } from './blocks.ts';
import { Changes } from './changes.ts';
import type { DictionaryValue, Payload } from './entry.ts';
import {
  blocksFor,
  BUCKET_NEXT,
  BUCKET_WORD,
  EARLIEST_DOUBLE,
  ENTRIES_WORD,
  EVICTED_WORD,
  EXPIRES,
  FREE_COUNT_WORD,
  type Geometry,
  geometryOf,
  HASH,
  KEY_LENGTH,
  NEWER,
  NEWEST_WORD,
  NUMBER,
  OLDER,
  OLDEST_WORD,
  REVISION_WORD,
  TEXT_LENGTH,
  TYPE,
  TYPES,
} from './layout.ts';

/** A value to insert; if it is a string, its text is in the payload. */
interface StoredValue {
  readonly value: DictionaryValue;
  /** Milliseconds since the epoch; 0: never. */
  readonly expiresMs: number;
  /** The counter of the stream that it comes from; absent: it is a local change. */
  readonly counter?: number;
}

/** The arguments of `reserve` besides the size. */
interface ReserveOptions {
  readonly replaced: number;
  readonly evict: boolean;
  readonly nowMs: number;
  /** Entries that store a later time are not evicted. */
  readonly keepAfterMs?: number;
}

/**
 * The entries in shared memory. Every method must be called under the zone's lock. An entry is identified by its first
 * block.
 */
export class Table {
  readonly geometry: Geometry;
  /** Absent in tables of limits. */
  readonly changes: Changes | undefined;
  readonly #memory: Memory;
  readonly #blocks: Blocks;

  constructor(memory: Memory) {
    this.geometry = geometryOf(memory);
    this.changes = this.geometry.isDictionary ? new Changes(memory, this.geometry) : undefined;
    this.#memory = memory;
    this.#blocks = new Blocks(memory, this.geometry);
  }

  get entries(): number {
    return this.#memory.u32[ENTRIES_WORD] as number;
  }

  /** Needs no lock. */
  get revision(): number {
    return Atomics.load(this.#memory.i32, REVISION_WORD);
  }

  get evicted(): number {
    return this.#memory.u32[EVICTED_WORD] as number;
  }

  get freeBlocks(): number {
    return this.#memory.u32[FREE_COUNT_WORD] as number;
  }

  get newest(): number {
    return this.#memory.u32[NEWEST_WORD] as number;
  }

  get oldest(): number {
    return this.#memory.u32[OLDEST_WORD] as number;
  }

  newer(entry: number): number {
    return this.#get(entry, NEWER);
  }

  older(entry: number): number {
    return this.#get(entry, OLDER);
  }

  /** Returns the first entry of a bucket; 0 if it is empty. */
  firstIn(bucket: number): number {
    return this.#memory.u32[BUCKET_WORD + bucket] as number;
  }

  nextInBucket(entry: number): number {
    return this.#get(entry, BUCKET_NEXT);
  }

  /** Returns the entry with this key, or 0. An expired entry is removed, unless it waits for the store. */
  find(payload: Payload, nowMs: number): number {
    const entry = this.lookUp(payload);
    if (entry === 0 || !this.isExpired(entry, nowMs)) return entry;
    if (this.#sharing?.waits(entry) !== true) this.remove(entry);
    return 0;
  }

  /** Returns the entry with this key, even if it is deleted or expired; 0 if there is none. */
  lookUp(payload: Payload): number {
    let entry = this.#memory.u32[this.#bucketOf(payload.hash)] as number;
    while (entry !== 0 && !this.#isFor(entry, payload)) entry = this.nextInBucket(entry);
    return entry;
  }

  isExpired(entry: number, nowMs: number): boolean {
    const expires = this.expiresMs(entry);
    return expires !== 0 && expires <= nowMs;
  }

  expiresMs(entry: number): number {
    return this.#memory.f64[this.#blocks.at(entry, EXPIRES) >> 3] as number;
  }

  key(entry: number): string {
    return this.#blocks.text(entry, 0, this.#keyLength(entry));
  }

  value(entry: number): DictionaryValue {
    const type = this.#memory.bytes[this.#blocks.at(entry, TYPE)];
    if (type === TYPES.string) {
      return this.#blocks.text(entry, this.#keyLength(entry), this.#get(entry, TEXT_LENGTH));
    }
    const number = this.number(entry);
    return type === TYPES.number ? number : number === 1;
  }

  number(entry: number): number {
    return this.#memory.f64[this.#blocks.at(entry, NUMBER) >> 3] as number;
  }

  /** A single aligned store: a thread that dies here leaves either the old number or the new one. */
  setNumber(entry: number, number: number): void {
    this.#memory.f64[this.#blocks.at(entry, NUMBER) >> 3] = number;
    this.#revise();
  }

  /** Returns whether the entry was deleted and waits for the store. Such entries are not in the order of use. */
  isDeleted(entry: number): boolean {
    return this.changes !== undefined && this.expiresMs(entry) < 0;
  }

  /** Changes when an entry expires or, for entries that do not expire, the time that they store. */
  setTime(entry: number, timeMs: number): void {
    this.#memory.f64[this.#blocks.at(entry, EXPIRES) >> 3] = timeMs;
    this.#revise();
  }

  /** Makes the entry the most recently used one. */
  touch(entry: number): void {
    if (this.newest === entry) return;
    this.#unlinkUse(entry);
    this.#linkUse(entry);
  }

  /**
   * Makes room for a payload that replaces the entry `replaced` (0: none). Expired entries are removed or, with
   * `evict`, the least recently used ones. Returns false if there is not enough room.
   */
  reserve(payloadBytes: number, { replaced, evict, nowMs, keepAfterMs }: ReserveOptions): boolean {
    const needed =
      this.#blocksFor(payloadBytes) - (replaced === 0 ? 0 : this.#blocksFor(this.payloadBytes(replaced)));
    if (this.freeBlocks >= needed) return true;
    if (this.#blocksFor(payloadBytes) > this.geometry.blocks) return false;
    if (evict) this.#evict(needed, replaced, keepAfterMs);
    else this.#removeExpired(nowMs, replaced);
    return this.freeBlocks >= needed;
  }

  /**
   * Stores an entry instead of `replaced`, which has the same key (0: no visible one), after making room as `reserve`
   * does. Returns false if there is not enough room.
   */
  put(payload: Payload, stored: StoredValue, options: ReserveOptions): boolean {
    const sharing = this.#sharing;
    if (sharing !== undefined) return this.#putShared(payload, stored, { options, sharing });
    if (!this.reserve(payload.length, options)) return false;
    if (options.replaced !== 0) this.remove(options.replaced);
    this.insert(payload, stored);
    return true;
  }

  /**
   * Inserts an entry with a new key; `reserve` must have made room. `seen` is the counter of the value that it
   * replaces.
   */
  insert(payload: Payload, { value, expiresMs, counter }: StoredValue, seen: number = 0): number {
    const { u32, u16, f64, bytes } = this.#memory;
    const entry = this.#blocks.write(payload.bytes, payload.length);
    this.#set(entry, HASH, payload.hash);
    u16[this.#blocks.at(entry, KEY_LENGTH) >> 1] = payload.keyLength;
    bytes[this.#blocks.at(entry, TYPE)] = TYPES[typeof value as keyof typeof TYPES];
    this.#set(entry, TEXT_LENGTH, payload.textLength);
    f64[this.#blocks.at(entry, EXPIRES) >> 3] = expiresMs;
    f64[this.#blocks.at(entry, NUMBER) >> 3] = typeof value === 'string' ? 0 : Number(value);
    this.changes?.stamp(entry, counter, seen);
    this.#blocks.mark(entry);
    const bucket = this.#bucketOf(payload.hash);
    this.#set(entry, BUCKET_NEXT, u32[bucket] as number);
    u32[bucket] = entry;
    this.#linkUse(entry);
    this.#sharing?.link(entry);
    u32[ENTRIES_WORD] = this.entries + 1;
    if (expiresMs !== 0) this.#note(expiresMs);
    this.#revise();
    return entry;
  }

  remove(entry: number): void {
    this.#unlinkBucket(entry);
    this.#sharing?.unlink(entry);
    if (!this.isDeleted(entry)) {
      this.#unlinkUse(entry);
      this.#memory.u32[ENTRIES_WORD] = this.entries - 1;
    }
    this.#blocks.free(entry);
    this.#revise();
  }

  /** Removes an entry. In a shared dictionary it stays as deleted until the store knows. */
  delete(entry: number): void {
    const sharing = this.#sharing;
    if (sharing === undefined) this.remove(entry);
    else this.bury(entry, sharing);
  }

  /** Marks an entry of a shared dictionary as deleted. Its key stays until the store knows. */
  bury(entry: number, sharing: Changes): void {
    sharing.add(entry);
    this.#unlinkUse(entry);
    this.#memory.u32[ENTRIES_WORD] = this.entries - 1;
    this.setTime(entry, -Infinity);
    this.#set(entry, TEXT_LENGTH, 0);
    this.#blocks.cut(entry, this.#keyLength(entry));
  }

  /** Ends the waiting of an entry of a shared dictionary. */
  settle(entry: number, sharing: Changes): void {
    if (this.isDeleted(entry)) return this.remove(entry);
    sharing.settle(entry);
    const expires = this.expiresMs(entry);
    if (expires !== 0) this.#note(expires);
  }

  /** Tells those who follow the entries that they have changed. */
  #revise(): void {
    const { i32 } = this.#memory;
    i32[REVISION_WORD] = (i32[REVISION_WORD] as number) + 1;
  }

  /** The changes of the dictionary while it is shared. */
  get #sharing(): Changes | undefined {
    return this.changes?.isShared === true ? this.changes : undefined;
  }

  #putShared(
    payload: Payload,
    stored: StoredValue,
    { options, sharing }: { options: ReserveOptions; sharing: Changes },
  ): boolean {
    // An entry that is no longer visible may be kept for the store.
    const replaced = options.replaced === 0 ? this.lookUp(payload) : options.replaced;
    if (!this.reserve(payload.length, { ...options, replaced })) return false;
    const seen = replaced === 0 ? 0 : sharing.counterOf(replaced);
    if (replaced !== 0) this.remove(replaced);
    this.insert(payload, stored, seen);
    return true;
  }

  /** Removes the least recently used entries, except `replaced`, whose blocks are already counted as free. */
  #evict(needed: number, replaced: number, keepAfterMs: number = Infinity): void {
    const { u32 } = this.#memory;
    if (replaced !== 0 && !this.isDeleted(replaced)) this.touch(replaced);
    while (this.freeBlocks < needed) {
      const { oldest } = this;
      if (oldest === 0 || oldest === replaced || this.expiresMs(oldest) > keepAfterMs) return;
      this.remove(oldest);
      u32[EVICTED_WORD] = this.evicted + 1;
    }
  }

  /** Records that an entry expires at this time. */
  #note(expiresMs: number): void {
    const { f64 } = this.#memory;
    if (expiresMs < (f64[EARLIEST_DOUBLE] as number)) f64[EARLIEST_DOUBLE] = expiresMs;
  }

  /** Removes expired entries. Scans the table only if some entry may have expired. */
  #removeExpired(nowMs: number, except: number): void {
    const { f64 } = this.#memory;
    if ((f64[EARLIEST_DOUBLE] as number) > nowMs) return;
    let earliest = Infinity;
    const sharing = this.#sharing;
    for (let entry = this.newest, older = 0; entry !== 0; entry = older) {
      older = this.older(entry);
      const expires = this.expiresMs(entry);
      // The time of an entry that waits is recorded when the store has taken it.
      if (expires === 0 || sharing?.waits(entry) === true) continue;
      if (expires <= nowMs && entry !== except) this.remove(entry);
      else if (expires < earliest) earliest = expires;
    }
    f64[EARLIEST_DOUBLE] = earliest;
  }

  #isFor(entry: number, { hash, bytes, keyLength }: Payload): boolean {
    return (
      this.#get(entry, HASH) === hash &&
      this.#keyLength(entry) === keyLength &&
      this.#blocks.startsWith(entry, bytes, keyLength)
    );
  }

  #unlinkBucket(entry: number): void {
    const { u32 } = this.#memory;
    let link = this.#bucketOf(this.#get(entry, HASH));
    while (u32[link] !== entry) link = this.#blocks.at(u32[link] as number, BUCKET_NEXT) >> 2;
    u32[link] = this.#get(entry, BUCKET_NEXT);
  }

  #linkUse(entry: number): void {
    const { newest } = this;
    this.#set(entry, NEWER, 0);
    this.#set(entry, OLDER, newest);
    if (newest === 0) this.#memory.u32[OLDEST_WORD] = entry;
    else this.#set(newest, NEWER, entry);
    this.#memory.u32[NEWEST_WORD] = entry;
  }

  #unlinkUse(entry: number): void {
    const newer = this.#get(entry, NEWER);
    const older = this.#get(entry, OLDER);
    if (newer === 0) this.#memory.u32[NEWEST_WORD] = older;
    else this.#set(newer, OLDER, older);
    if (older === 0) this.#memory.u32[OLDEST_WORD] = newer;
    else this.#set(older, NEWER, newer);
  }

  #bucketOf(hash: number): number {
    return BUCKET_WORD + (hash & (this.geometry.buckets - 1));
  }

  #keyLength(entry: number): number {
    return this.#memory.u16[this.#blocks.at(entry, KEY_LENGTH) >> 1] as number;
  }

  #blocksFor(payloadBytes: number): number {
    return blocksFor(payloadBytes, this.geometry);
  }

  payloadBytes(entry: number): number {
    return this.#keyLength(entry) + this.#get(entry, TEXT_LENGTH);
  }

  #get(block: number, field: number): number {
    return this.#memory.u32[this.#blocks.at(block, field) >> 2] as number;
  }

  #set(block: number, field: number, value: number): void {
    this.#memory.u32[this.#blocks.at(block, field) >> 2] = value;
  }
}
