import type { Memory } from '../header.ts';
import { Blocks } from './blocks.ts';
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
  TEXT_LENGTH,
  TYPE,
  TYPES,
} from './kind.ts';

/** A value to insert; if it is a string, its text is in the payload. */
interface StoredValue {
  readonly value: DictionaryValue;
  /** Milliseconds since the epoch; 0: never. */
  readonly expiresMs: number;
}

/** The arguments of `reserve` besides the size. */
interface ReserveOptions {
  readonly replaced: number;
  readonly evict: boolean;
  readonly nowMs: number;
}

/**
 * The entries in shared memory. Every method must be called under the zone's lock. An entry is identified by its first
 * block.
 */
export class Table {
  readonly geometry: Geometry;
  readonly #memory: Memory;
  readonly #blocks: Blocks;

  constructor(memory: Memory) {
    this.geometry = geometryOf(memory.bytes.length);
    this.#memory = memory;
    this.#blocks = new Blocks(memory, this.geometry);
  }

  get entries(): number {
    return this.#memory.u32[ENTRIES_WORD] as number;
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

  /** Returns the entry with this key; 0 if there is none. An expired entry is removed. */
  find(payload: Payload, nowMs: number): number {
    let entry = this.#memory.u32[this.#bucketOf(payload.hash)] as number;
    while (entry !== 0 && !this.#isFor(entry, payload)) entry = this.nextInBucket(entry);
    if (entry === 0 || !this.isExpired(entry, nowMs)) return entry;
    this.remove(entry);
    return 0;
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
  }

  /** For entries that do not expire, but store a time. */
  setTime(entry: number, timeMs: number): void {
    this.#memory.f64[this.#blocks.at(entry, EXPIRES) >> 3] = timeMs;
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
  reserve(payloadBytes: number, { replaced, evict, nowMs }: ReserveOptions): boolean {
    const needed = blocksFor(payloadBytes) - (replaced === 0 ? 0 : blocksFor(this.#payloadBytes(replaced)));
    if (this.freeBlocks >= needed) return true;
    if (blocksFor(payloadBytes) > this.geometry.blocks) return false;
    // The replaced entry must not be evicted: its blocks are already counted.
    if (evict && replaced !== 0) this.touch(replaced);
    if (evict) while (this.freeBlocks < needed) this.#evictOldest();
    else this.#removeExpired(nowMs, replaced);
    return this.freeBlocks >= needed;
  }

  /** Inserts an entry with a new key; `reserve` must have made room. */
  insert(payload: Payload, { value, expiresMs }: StoredValue): void {
    const { u32, u16, f64, bytes } = this.#memory;
    const entry = this.#blocks.write(payload.bytes, payload.length);
    this.#set(entry, HASH, payload.hash);
    u16[this.#blocks.at(entry, KEY_LENGTH) >> 1] = payload.keyLength;
    bytes[this.#blocks.at(entry, TYPE)] = TYPES[typeof value as keyof typeof TYPES];
    this.#set(entry, TEXT_LENGTH, payload.textLength);
    f64[this.#blocks.at(entry, EXPIRES) >> 3] = expiresMs;
    f64[this.#blocks.at(entry, NUMBER) >> 3] = typeof value === 'string' ? 0 : Number(value);
    this.#blocks.mark(entry);
    const bucket = this.#bucketOf(payload.hash);
    this.#set(entry, BUCKET_NEXT, u32[bucket] as number);
    u32[bucket] = entry;
    this.#linkUse(entry);
    u32[ENTRIES_WORD] = this.entries + 1;
    if (expiresMs !== 0 && expiresMs < (f64[EARLIEST_DOUBLE] as number)) f64[EARLIEST_DOUBLE] = expiresMs;
  }

  remove(entry: number): void {
    this.#unlinkBucket(entry);
    this.#unlinkUse(entry);
    this.#memory.u32[ENTRIES_WORD] = this.entries - 1;
    this.#blocks.free(entry, this.#payloadBytes(entry));
  }

  #evictOldest(): void {
    const { u32 } = this.#memory;
    this.remove(u32[OLDEST_WORD] as number);
    u32[EVICTED_WORD] = this.evicted + 1;
  }

  /** Removes expired entries. Scans the table only if some entry may have expired. */
  #removeExpired(nowMs: number, except: number): void {
    const { f64 } = this.#memory;
    if ((f64[EARLIEST_DOUBLE] as number) > nowMs) return;
    let earliest = Infinity;
    for (let entry = this.newest, older = 0; entry !== 0; entry = older) {
      older = this.older(entry);
      const expires = this.expiresMs(entry);
      if (expires === 0) continue;
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

  #payloadBytes(entry: number): number {
    return this.#keyLength(entry) + this.#get(entry, TEXT_LENGTH);
  }

  #get(block: number, field: number): number {
    return this.#memory.u32[this.#blocks.at(block, field) >> 2] as number;
  }

  #set(block: number, field: number, value: number): void {
    this.#memory.u32[this.#blocks.at(block, field) >> 2] = value;
  }
}
