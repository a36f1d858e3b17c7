import { fnv1a } from '../dictionary/entry.ts';
import type { Memory } from '../header.ts';
import {
  BLOCK_BYTES,
  blocksFor,
  BUCKET_NEXT,
  BYTES_DOUBLE,
  DIGEST,
  DIGEST_BYTES,
  ENTRIES_WORD,
  FIRST_PAYLOAD,
  FREE_COUNT_WORD,
  FREE_WORD,
  FURTHER_PAYLOAD,
  GENERATION,
  GENERATION_WORD,
  type Geometry,
  geometryOf,
  KEY_HASH,
  KEY_LENGTH,
  LOCKED,
  NEWER,
  NEWEST_WORD,
  NEXT,
  OLDER,
  OLDEST_WORD,
  OWNER,
  SIZE,
  STATE,
  STATES,
  TAG_BITS,
  TAGS_LENGTH,
  TICKET,
  TICKET_WORD,
  USED,
  USES,
  VALID,
} from './kind.ts';

/** A stored response, for status pages. Times are in ms since the epoch. */
export interface EntryFacts {
  readonly key: string;
  readonly tags: readonly string[];
  readonly sizeBytes: number;
  readonly uses: number;
  readonly usedMs: number;
  readonly validMs: number;
}

/** The entries of a cache's index. Every method must be called under the zone's lock. */
export class CacheTable {
  readonly geometry: Geometry;
  readonly memory: Memory;

  constructor(memory: Memory) {
    this.memory = memory;
    this.geometry = geometryOf(memory.bytes.length);
  }

  get newest(): number {
    return this.memory.u32[NEWEST_WORD] as number;
  }

  get oldest(): number {
    return this.memory.u32[OLDEST_WORD] as number;
  }

  get freeBlocks(): number {
    return this.memory.u32[FREE_COUNT_WORD] as number;
  }

  older(entry: number): number {
    return this.u32(entry, OLDER);
  }

  newer(entry: number): number {
    return this.u32(entry, NEWER);
  }

  /** Returns the offset in bytes of a field of a block. */
  at(block: number, field: number): number {
    return this.geometry.blocksAt + (block - 1) * BLOCK_BYTES + field;
  }

  u32(entry: number, field: number): number {
    return this.memory.u32[this.at(entry, field) >> 2] as number;
  }

  setU32(entry: number, field: number, value: number): void {
    this.memory.u32[this.at(entry, field) >> 2] = value;
  }

  f64(entry: number, field: number): number {
    return this.memory.f64[this.at(entry, field) >> 3] as number;
  }

  setF64(entry: number, field: number, value: number): void {
    this.memory.f64[this.at(entry, field) >> 3] = value;
  }

  u16(entry: number, field: number): number {
    return this.memory.u16[this.at(entry, field) >> 1] as number;
  }

  setU16(entry: number, field: number, value: number): void {
    this.memory.u16[this.at(entry, field) >> 1] = value;
  }

  u8(entry: number, field: number): number {
    return this.memory.bytes[this.at(entry, field)] as number;
  }

  setU8(entry: number, field: number, value: number): void {
    this.memory.bytes[this.at(entry, field)] = value;
  }

  digest(entry: number): Buffer {
    const from = this.at(entry, DIGEST);
    return Buffer.from(this.memory.bytes.subarray(from, from + DIGEST_BYTES));
  }

  /** Returns the entry of a digest; 0 if there is none. */
  find(digest: Uint8Array): number {
    let entry = this.memory.u32[this.#bucketOf(digest)] as number;
    while (entry !== 0 && !this.#isFor(entry, digest)) entry = this.u32(entry, BUCKET_NEXT);
    return entry;
  }

  /** Gives an entry a new generation, so that copies of it in the memory of threads become invalid. */
  change(entry: number): number {
    const { u32, i32 } = this.memory;
    const generation = ((u32[GENERATION_WORD] as number) + 1) | 0;
    u32[GENERATION_WORD] = generation;
    Atomics.store(i32, this.at(entry, GENERATION) >> 2, generation);
    return generation;
  }

  /** Changes the state, and the size on disk. */
  settle(entry: number, state: number, sizeBytes: number): void {
    const { u32, f64 } = this.memory;
    const hadFile = this.u8(entry, STATE) !== STATES.counted;
    const hasFile = state !== STATES.counted;
    u32[ENTRIES_WORD] = (u32[ENTRIES_WORD] as number) + Number(hasFile) - Number(hadFile);
    f64[BYTES_DOUBLE] = (f64[BYTES_DOUBLE] as number) + sizeBytes - this.f64(entry, SIZE);
    this.setF64(entry, SIZE, sizeBytes);
    this.setU8(entry, STATE, state);
    this.change(entry);
  }

  /** Gives the lock of an entry to a thread. Returns its ticket. */
  own(entry: number, owner: number, nowMs: number): number {
    const { u32 } = this.memory;
    const ticket = ((u32[TICKET_WORD] as number) + 1) >>> 0 || 1;
    u32[TICKET_WORD] = ticket;
    this.setU32(entry, OWNER, owner);
    this.setU32(entry, TICKET, ticket);
    this.setF64(entry, LOCKED, nowMs);
    return ticket;
  }

  /** Begins to remove an entry; the thread then removes the file. False: no file, or another thread changes it. */
  condemn(entry: number, owner: number): boolean {
    const state = this.u8(entry, STATE);
    if (state !== STATES.stored && state !== STATES.unsure) return false;
    this.settle(entry, STATES.deleting, this.f64(entry, SIZE));
    this.own(entry, owner, Date.now());
    return true;
  }

  /** Inserts an entry without a file as the newest one; 0: there are too few free blocks. */
  insert(digest: Uint8Array, payload: Payload): number {
    const { u32, i32, bytes } = this.memory;
    const length = payload.key.length + payload.tags.length;
    if (this.freeBlocks < blocksFor(length)) return 0;
    const entry = this.#take(blocksFor(length));
    bytes.fill(0, this.at(entry, BUCKET_NEXT), this.at(entry, FIRST_PAYLOAD));
    bytes.set(digest, this.at(entry, DIGEST));
    this.setU16(entry, KEY_LENGTH, payload.key.length);
    this.setU16(entry, TAGS_LENGTH, payload.tags.length);
    this.setU32(entry, KEY_HASH, fnv1a(payload.key));
    this.setU32(entry, TAG_BITS, payload.tagBits);
    this.#write(entry, Buffer.concat([payload.key, payload.tags]));
    this.change(entry);
    Atomics.store(i32, this.at(entry, 0) >> 2, 1);
    const bucket = this.#bucketOf(digest);
    this.setU32(entry, BUCKET_NEXT, u32[bucket] as number);
    u32[bucket] = entry;
    this.#linkUse(entry);
    return entry;
  }

  /** Removes an entry and frees its blocks. */
  remove(entry: number): void {
    this.settle(entry, STATES.counted, 0);
    this.#unlinkBucket(entry);
    this.#unlinkUse(entry);
    const { i32, u32 } = this.memory;
    Atomics.store(i32, this.at(entry, 0) >> 2, 0);
    let last = entry;
    let count = 1;
    while (this.u32(last, NEXT) !== 0) {
      last = this.u32(last, NEXT);
      count++;
    }
    this.setU32(last, NEXT, u32[FREE_WORD] as number);
    u32[FREE_WORD] = entry;
    u32[FREE_COUNT_WORD] = this.freeBlocks + count;
  }

  /** Makes the entry the most recently used one. */
  touch(entry: number): void {
    if (this.newest === entry) return;
    this.#unlinkUse(entry);
    this.#linkUse(entry);
  }

  /** Makes the entry the least recently used one. */
  sink(entry: number): void {
    const { oldest } = this;
    if (oldest === entry) return;
    this.#unlinkUse(entry);
    this.setU32(entry, OLDER, 0);
    this.setU32(entry, NEWER, oldest);
    this.setU32(oldest, OLDER, entry);
    this.memory.u32[OLDEST_WORD] = entry;
  }

  /** Returns the entries with the largest files, the largest first; all entries if there are at most `most`. */
  largest(entries: readonly number[], most: number): readonly number[] {
    if (entries.length <= most) return entries;
    const largest: number[] = [];
    for (const entry of entries) {
      const sizeBytes = this.f64(entry, SIZE);
      let at = largest.length;
      while (at > 0 && this.f64(largest[at - 1] as number, SIZE) < sizeBytes) at--;
      if (at === most) continue;
      largest.splice(at, 0, entry);
      if (largest.length > most) largest.pop();
    }
    return largest;
  }

  facts(entry: number): EntryFacts {
    return {
      key: this.#read(entry, this.u16(entry, KEY_LENGTH)).toString(),
      tags: this.tags(entry),
      sizeBytes: this.f64(entry, SIZE),
      uses: this.u32(entry, USES),
      usedMs: this.f64(entry, USED),
      validMs: this.f64(entry, VALID),
    };
  }

  hasKey(entry: number, wanted: Buffer): boolean {
    const length = this.u16(entry, KEY_LENGTH);
    return length === wanted.length && this.#read(entry, length).equals(wanted);
  }

  /** Returns the beginning of the key, one character for each byte. */
  keyStart(entry: number, mostBytes: number): string {
    return this.#read(entry, Math.min(mostBytes, this.u16(entry, KEY_LENGTH))).toString('latin1');
  }

  tags(entry: number): readonly string[] {
    const length = this.u16(entry, TAGS_LENGTH);
    if (length === 0) return [];
    const from = this.u16(entry, KEY_LENGTH);
    return this.#read(entry, from + length)
      .toString('utf8', from)
      .split('\n');
  }

  #take(count: number): number {
    const { u32 } = this.memory;
    const first = u32[FREE_WORD] as number;
    let last = first;
    for (let n = 1; n < count; n++) last = this.u32(last, NEXT);
    u32[FREE_WORD] = this.u32(last, NEXT);
    u32[FREE_COUNT_WORD] = this.freeBlocks - count;
    this.setU32(last, NEXT, 0);
    return first;
  }

  #write(entry: number, payload: Buffer): void {
    let done = 0;
    for (let block = entry, start = FIRST_PAYLOAD; done < payload.length; start = FURTHER_PAYLOAD) {
      const to = this.at(block, start);
      done += payload.copy(this.memory.bytes, to, done, done + BLOCK_BYTES - start);
      block = this.u32(block, NEXT);
    }
  }

  #read(entry: number, length: number): Buffer {
    const copy = Buffer.allocUnsafe(length);
    let done = 0;
    for (let block = entry, start = FIRST_PAYLOAD; done < length; start = FURTHER_PAYLOAD) {
      const from = this.at(block, start);
      const part = Math.min(length - done, BLOCK_BYTES - start);
      done += this.memory.bytes.copy(copy, done, from, from + part);
      block = this.u32(block, NEXT);
    }
    return copy;
  }

  #isFor(entry: number, digest: Uint8Array): boolean {
    const { bytes } = this.memory;
    const from = this.at(entry, DIGEST);
    for (let i = 0; i < DIGEST_BYTES; i++) if (bytes[from + i] !== digest[i]) return false;
    return true;
  }

  /** The first word of the digest is the hash: digests are as good as random, and clients cannot choose them freely. */
  #bucketOf(digest: Uint8Array): number {
    const [a = 0, b = 0, c = 0, d = 0] = digest;
    const hash = a | (b << 8) | (c << 16) | (d << 24);
    const { bucketsAt, buckets } = this.geometry;
    return bucketsAt / 4 + (hash & (buckets - 1));
  }

  #unlinkBucket(entry: number): void {
    const { u32 } = this.memory;
    let link = this.#bucketOf(this.digest(entry));
    while (u32[link] !== entry) link = this.at(u32[link] as number, BUCKET_NEXT) >> 2;
    u32[link] = this.u32(entry, BUCKET_NEXT);
  }

  #linkUse(entry: number): void {
    const { newest } = this;
    this.setU32(entry, NEWER, 0);
    this.setU32(entry, OLDER, newest);
    if (newest === 0) this.memory.u32[OLDEST_WORD] = entry;
    else this.setU32(newest, NEWER, entry);
    this.memory.u32[NEWEST_WORD] = entry;
  }

  #unlinkUse(entry: number): void {
    const newer = this.newer(entry);
    const older = this.older(entry);
    if (newer === 0) this.memory.u32[NEWEST_WORD] = older;
    else this.setU32(newer, OLDER, older);
    if (older === 0) this.memory.u32[OLDEST_WORD] = newer;
    else this.setU32(older, NEWER, newer);
  }
}

/** The texts of an entry. */
interface Payload {
  readonly key: Buffer;
  /** Separated by newlines. */
  readonly tags: Buffer;
  /** The bits of all tags. */
  readonly tagBits: number;
}

/** Returns two of 32 bits for a tag: an entry without these bits does not have the tag. */
export function tagBits(tag: string): number {
  const hash = fnv1a(Buffer.from(tag));
  return ((1 << (hash & 31)) | (1 << ((hash >>> 5) & 31))) >>> 0;
}

/** Returns the texts of an entry as bytes. */
export function payloadOf(key: string, tags: readonly string[] = []): Payload {
  const bits = tags.reduce((all, tag) => all | tagBits(tag), 0) >>> 0;
  return { key: Buffer.from(key), tags: Buffer.from(tags.join('\n')), tagBits: bits };
}
