import { MAGIC_WORD, type Memory, memoryOf, VERSION_WORD } from '../header.ts';
import { setAlive, ZoneLock } from '../lock.ts';
import { CacheTable, type EntryFacts, payloadOf } from './cache-table.ts';
import { DiskState } from './disk-state.ts';
import {
  BLOCK_BYTES,
  BYTES_DOUBLE,
  CACHE_MAGIC,
  CACHE_VERSION,
  CHECKED,
  ENTRIES_WORD,
  GENERATION,
  LOADED_WORD,
  LOCKED,
  OWNER,
  PURGES_WORD,
  REMEMBERED,
  repairCache,
  SEAT_WORD,
  SIZE,
  STATE,
  STATES,
  TICKET,
  USED,
  USES,
  VALID,
  VARIES,
} from './kind.ts';
import { type PurgeMatcher, purgeMatcher } from './purge-matcher.ts';
import { type PurgeList, recordPurges, wasPurged } from './purges.ts';

/** Opens the index of a cache for this thread. Throws if the memory has no index. */
export function openCacheIndex(buffer: SharedArrayBuffer, threadId: number): CacheIndex {
  return new CacheIndex(memoryOf(buffer), threadId);
}

/** The state of an entry at one moment, as the index has it. */
export interface IndexedEntry {
  /** Its number, valid while `isCurrent` says so. */
  readonly entry: number;
  readonly generation: number;
  /**
   * `stored`: there is a file. `unsure`: only the disk can tell. `arriving`: a complete response is being put in place.
   * `absent`: there is no file that may be served.
   */
  readonly file: 'stored' | 'unsure' | 'arriving' | 'absent';
  readonly uses: number;
  readonly validMs: number;
  /** The checksum of its body was compared since the start of the process. */
  readonly isChecked: boolean;
  /** A status of the gateway itself that is kept instead of a response; 0: there is no such status. */
  readonly remembered: number;
}

/** The facts about a stored response that are recorded. */
interface StoredFacts {
  readonly sizeBytes: number;
  readonly validMs: number;
  readonly isChecked: boolean;
  /** It has no response of its own, since its key has variants. Purges do not count it. */
  readonly varies: boolean;
}

/** An entry by its digest, with the texts by which it can be purged. */
interface Named {
  readonly digest: Uint8Array;
  readonly key: string;
  readonly tags: readonly string[];
}

/** The fill level of an index. */
export interface IndexFacts {
  readonly entries: number;
  readonly bytes: number;
  readonly freeBytes: number;
  readonly capacityBytes: number;
  readonly isLoaded: boolean;
}

/** An entry that is being removed: the file is removed first, then the entry. */
export interface Removal {
  readonly digest: Buffer;
  readonly sizeBytes: number;
}

/** Purged entries of one part of the index. `nth`: the index of the text; `undefined`: the entry does not count. */
interface PurgedPart {
  /** The caller removes their files and calls `finishRemoval`. */
  readonly removals: (Removal & { readonly nth: number | undefined })[];
  /** Entries whose files another thread removes. Only those that were about to be stored count. */
  readonly others: (Pick<IndexedEntry, 'entry' | 'generation'> & { readonly nth: number | undefined })[];
}

/** Entries that a scan looks at per acquisition of the lock. */
const SCANNED = 4_096;
const NOTHING: ReadonlySet<number> = new Set<number>([STATES.counted]);
const FILES: Readonly<Record<number, 'stored' | 'arriving'>> = {
  [STATES.stored]: 'stored',
  [STATES.replacing]: 'arriving',
};

/**
 * The index of a cache, shared by all threads: its entries, their last uses, and which thread fetches which one. Each
 * call is atomic. If the lock cannot be acquired within 250 ms, a call does nothing and returns the same as for a full
 * index.
 */
export class CacheIndex {
  readonly disk: DiskState;
  readonly #table: CacheTable;
  readonly #memory: Memory;
  readonly #lock: ZoneLock;
  readonly #mine: number;

  constructor(memory: Memory, threadId: number) {
    if (memory.u32[MAGIC_WORD] !== CACHE_MAGIC || memory.u32[VERSION_WORD] !== CACHE_VERSION)
      throw new TypeError('the shared memory does not hold the index of a cache of this layout');
    this.#memory = memory;
    this.disk = new DiskState(memory);
    this.#table = new CacheTable(memory);
    this.#mine = threadId + 1;
    setAlive(memory.i32, threadId);
    this.#lock = new ZoneLock(memory.i32, threadId, () => repairCache(memory));
  }

  /** Counts a use of a key, which is added if it is new. `undefined`: the index is full. */
  use(digest: Uint8Array, key: string, nowMs: number): IndexedEntry | undefined {
    return this.#locked(() => {
      const table = this.#table;
      const entry = table.find(digest) || this.#insert(digest, key, []);
      if (entry === 0) return undefined;
      table.setU32(entry, USES, Math.min(table.u32(entry, USES) + 1, 0xffff_ffff));
      table.setF64(entry, USED, nowMs);
      table.touch(entry);
      return this.#describe(entry);
    });
  }

  /** Looks at an entry without counting a use. */
  peek(digest: Uint8Array): IndexedEntry | undefined {
    return this.#locked(() => {
      const entry = this.#table.find(digest);
      return entry === 0 ? undefined : this.#describe(entry);
    });
  }

  /** Returns, without the lock, whether an entry is unchanged. */
  isCurrent({ entry, generation }: Pick<IndexedEntry, 'entry' | 'generation'>): boolean {
    return Atomics.load(this.#memory.i32, this.#table.at(entry, GENERATION) >> 2) === generation;
  }

  /** Counts a use of an entry that a thread has kept. */
  touch(kept: Pick<IndexedEntry, 'entry' | 'generation'>, nowMs: number): void {
    this.#locked(() => {
      if (!this.isCurrent(kept)) return;
      this.#table.setF64(kept.entry, USED, nowMs);
      this.#table.touch(kept.entry);
    });
  }

  /**
   * Takes the lock for fetching an entry, also from a holder that has had it for longer than `ageMs`. Returns a ticket;
   * 0 if another request holds the lock.
   */
  lock(digest: Uint8Array, { nowMs, ageMs }: { readonly nowMs: number; readonly ageMs: number }): number {
    const ticket = this.#locked(() => {
      const entry = this.#table.find(digest);
      if (entry === 0) return undefined;
      const isHeld = this.#table.u32(entry, OWNER) !== 0;
      if (isHeld && nowMs - this.#table.f64(entry, LOCKED) < ageMs) return 0;
      return this.#table.own(entry, this.#mine, nowMs);
    });
    return ticket ?? 0;
  }

  isLocked(digest: Uint8Array): boolean {
    const isLocked = this.#locked(() => {
      const entry = this.#table.find(digest);
      return entry !== 0 && this.#table.u32(entry, OWNER) !== 0;
    });
    return isLocked === true;
  }

  unlock(digest: Uint8Array, ticket: number): void {
    this.#locked(() => {
      const entry = this.#table.find(digest);
      if (entry !== 0 && this.#table.u32(entry, TICKET) === ticket) this.#table.setU32(entry, OWNER, 0);
    });
  }

  /** Keeps a status of the gateway itself for a key, instead of a response. */
  remember(digest: Uint8Array, status: number, validMs: number): void {
    this.#locked(() => {
      const entry = this.#table.find(digest);
      if (entry === 0 || !NOTHING.has(this.#table.u8(entry, STATE))) return;
      this.#table.setU16(entry, REMEMBERED, status);
      this.#table.setF64(entry, VALID, validMs);
    });
  }

  /** Number of purges so far, for `beginStore`. */
  get purges(): number {
    return this.#memory.u32[PURGES_WORD] as number;
  }

  /** Begins to store a new file of an entry. `since`: `purges` when the request began. `undefined`: do not store. */
  beginStore(
    { digest, key, tags }: Named,
    { since, nowMs }: { readonly since: number; readonly nowMs: number },
  ): 'begun' | 'purged' | undefined {
    return this.#locked(() => {
      const table = this.#table;
      if (wasPurged(table, since, { key, tags })) return 'purged';
      const found = table.find(digest);
      const state = found === 0 ? STATES.counted : table.u8(found, STATE);
      if (state === STATES.replacing || state === STATES.deleting) return undefined;
      const entry =
        found === 0 ? this.#insert(digest, key, tags) : this.#tagged(found, { digest, key, tags });
      if (entry === 0) return undefined;
      table.settle(entry, STATES.replacing, table.f64(entry, SIZE));
      table.setF64(entry, USED, nowMs);
      table.own(entry, this.#mine, nowMs);
      return 'begun';
    });
  }

  /**
   * Ends what `beginStore` began. No facts: the file could not be put in place. `purged`: the caller must remove the
   * file and then call `finishRemoval`.
   */
  finishStore(digest: Uint8Array, facts: StoredFacts | undefined): IndexedEntry | 'purged' | undefined {
    return this.#locked(() => {
      const table = this.#table;
      const entry = table.find(digest);
      if (entry === 0) return undefined;
      if (table.u8(entry, STATE) !== STATES.replacing) return 'purged';
      table.setU32(entry, OWNER, 0);
      if (!facts) {
        table.settle(entry, STATES.unsure, table.f64(entry, SIZE));
        return undefined;
      }
      table.settle(entry, STATES.stored, facts.sizeBytes);
      table.setF64(entry, VALID, facts.validMs);
      table.setU8(entry, CHECKED, Number(facts.isChecked));
      table.setU8(entry, VARIES, Number(facts.varies));
      table.setU16(entry, REMEMBERED, 0);
      return this.#describe(entry);
    });
  }

  /** Records that an entry is valid again, and returns it; its file must have been changed before. */
  renew(digest: Uint8Array, validMs: number): IndexedEntry | undefined {
    return this.#locked(() => {
      const entry = this.#table.find(digest);
      if (entry === 0 || this.#table.u8(entry, STATE) !== STATES.stored) return undefined;
      this.#table.setF64(entry, VALID, validMs);
      this.#table.setU32(entry, OWNER, 0);
      this.#table.change(entry);
      return this.#describe(entry);
    });
  }

  /** Records an entry found on disk by the loader, or by a lookup of an `unsure` entry. */
  found({ digest, key, tags }: Named, facts: StoredFacts): IndexedEntry | 'purged' | undefined {
    return this.#locked(() => {
      const table = this.#table;
      let entry = table.find(digest);
      const state = entry === 0 ? STATES.counted : table.u8(entry, STATE);
      if (state === STATES.stored) return this.#describe(entry);
      if (state === STATES.replacing || state === STATES.deleting) return undefined;
      if (wasPurged(table, 0, { key, tags })) return 'purged';
      entry = entry === 0 ? this.#insert(digest, key, tags) : this.#tagged(entry, { digest, key, tags });
      if (entry === 0) return undefined;
      table.settle(entry, STATES.stored, facts.sizeBytes);
      table.setF64(entry, VALID, facts.validMs);
      table.setU8(entry, CHECKED, Number(facts.isChecked));
      table.setU8(entry, VARIES, Number(facts.varies));
      if (table.f64(entry, USED) === 0) table.setF64(entry, USED, Date.now());
      return this.#describe(entry);
    });
  }

  /** Records that the body of an entry has the right checksum. */
  checked({ entry, generation }: IndexedEntry): void {
    this.#locked(() => {
      if (this.isCurrent({ entry, generation })) this.#table.setU8(entry, CHECKED, 1);
    });
  }

  /** Begins to remove an entry, if it is still of this generation. False: another thread is changing it. */
  beginRemoval(digest: Uint8Array, generation?: number): boolean {
    const begun = this.#locked(() => {
      const entry = this.#table.find(digest);
      if (entry === 0) return false;
      if (generation !== undefined && !this.isCurrent({ entry, generation })) return false;
      // A lookup may find a file before the loader does.
      const isFound = this.#describe(entry).file === 'unsure';
      if (isFound) this.#table.settle(entry, STATES.unsure, this.#table.f64(entry, SIZE));
      return this.#table.condemn(entry, this.#mine);
    });
    return begun === true;
  }

  /** Removes an entry whose file is gone. */
  finishRemoval(digest: Uint8Array): void {
    this.#locked(() => {
      const entry = this.#table.find(digest);
      if (entry !== 0 && this.#table.u8(entry, STATE) === STATES.deleting) this.#table.remove(entry);
    });
  }

  /**
   * Begins to remove the least recently used entries that satisfy `until`: at most `most` of them. Entries without a
   * file go at once. The caller removes the files and calls `finishRemoval`.
   */
  condemn(most: number, until: (usedMs: number, facts: IndexFacts) => boolean): readonly Removal[] {
    const removals: Removal[] = [];
    this.#locked(() => {
      const table = this.#table;
      let looked = 0;
      for (let entry = table.oldest, newer = 0; entry !== 0 && looked < SCANNED; entry = newer, looked++) {
        newer = table.newer(entry);
        if (removals.length === most || until(table.f64(entry, USED), this.#facts())) return;
        if (table.u32(entry, OWNER) !== 0) continue;
        const removal = { digest: table.digest(entry), sizeBytes: table.f64(entry, SIZE) };
        if (NOTHING.has(table.u8(entry, STATE))) table.remove(entry);
        else if (table.condemn(entry, this.#mine)) {
          removals.push(removal);
          table.settle(entry, STATES.deleting, 0);
        }
      }
    });
    return removals;
  }

  /** Records purges, so that responses requested before are not stored. Returns the matcher for `purgePart`. */
  recordPurges(purges: PurgeList): PurgeMatcher {
    const record = (): true => {
      recordPurges(this.#table, purges);
      return true;
    };
    while (this.#locked(record) === undefined);
    return purgeMatcher(purges);
  }

  /** Begins to remove purged entries, in parts: call it with the returned cursor until that is `undefined`. */
  purgePart(matcher: PurgeMatcher, cursor = 1): PurgedPart & { readonly next: number | undefined } {
    const part: PurgedPart = { removals: [], others: [] };
    const next = this.#part(cursor, (entries) => {
      for (const entry of entries) this.#purgeOne(entry, matcher, part);
    });
    return { ...part, next };
  }

  /** Returns the stored responses in parts, as `purgePart` does: all of a part, or its largest ones. */
  entriesPart(
    cursor = 1,
    most = SCANNED,
  ): { readonly entries: readonly EntryFacts[]; readonly next: number | undefined } {
    const table = this.#table;
    let shown: readonly EntryFacts[] = [];
    const next = this.#part(cursor, (entries) => {
      const stored = entries.filter(
        (entry) => table.u8(entry, STATE) === STATES.stored && table.u8(entry, VARIES) === 0,
      );
      shown = table.largest(stored, most).map((entry) => table.facts(entry));
    });
    return { entries: shown, next };
  }

  facts(): IndexFacts {
    return this.#facts();
  }

  /** Tries to become the thread that looks after the directory. */
  takeSeat(): boolean {
    const before = Atomics.compareExchange(this.#memory.i32, SEAT_WORD, 0, this.#mine);
    return before === 0 || before === this.#mine;
  }

  leaveSeat(): void {
    Atomics.compareExchange(this.#memory.i32, SEAT_WORD, this.#mine, 0);
  }

  get isLoaded(): boolean {
    return Atomics.load(this.#memory.i32, LOADED_WORD) === 1;
  }

  /** Records that every file of the directory is in the index. */
  setLoaded(): void {
    Atomics.store(this.#memory.i32, LOADED_WORD, 1);
  }

  #insert(digest: Uint8Array, key: string, tags: readonly string[]): number {
    const payload = payloadOf(key, tags);
    const inserted = this.#table.insert(digest, payload);
    if (inserted !== 0) return inserted;
    this.#dropCounted();
    return this.#table.insert(digest, payload);
  }

  /** Makes room: removes the oldest entries that only count uses, which have no files. */
  #dropCounted(): void {
    const table = this.#table;
    let looked = 0;
    for (let entry = table.oldest, newer = 0; entry !== 0 && looked < SCANNED; entry = newer, looked++) {
      newer = table.newer(entry);
      if (NOTHING.has(table.u8(entry, STATE)) && table.u32(entry, OWNER) === 0) table.remove(entry);
    }
  }

  /** An entry keeps its tags in its blocks: to change them, it is removed and inserted again. */
  #tagged(entry: number, { digest, key, tags }: Named): number {
    const table = this.#table;
    if (table.tags(entry).join('\n') === tags.join('\n')) return entry;
    const uses = table.u32(entry, USES);
    const state = table.u8(entry, STATE);
    const sizeBytes = table.f64(entry, SIZE);
    table.remove(entry);
    const made = this.#insert(digest, key, tags);
    if (made === 0) return 0;
    table.settle(made, state, sizeBytes);
    table.setU32(made, USES, uses);
    return made;
  }

  /** Looks at the entries that begin in some blocks. Returns the next block; the same one if the zone was locked. */
  #part(cursor: number, look: (entries: readonly number[]) => void): number | undefined {
    const table = this.#table;
    const { blocks } = table.geometry;
    const end = Math.min(cursor + SCANNED, blocks + 1);
    const isDone = this.#locked(() => {
      const entries: number[] = [];
      for (let block = cursor; block < end; block++)
        if (this.#memory.i32[table.at(block, 0) >> 2] === 1) entries.push(block);
      look(entries);
      return true;
    });
    if (isDone === undefined) return cursor;
    return end > blocks ? undefined : end;
  }

  #purgeOne(entry: number, matcher: PurgeMatcher, { removals, others }: PurgedPart): void {
    const table = this.#table;
    const nth = matcher(table, entry);
    if (nth < 0) return;
    const state = table.u8(entry, STATE);
    if (state === STATES.counted) return table.setU16(entry, REMEMBERED, 0);
    if (table.condemn(entry, this.#mine)) {
      const counted = table.u8(entry, VARIES) === 1 ? undefined : nth;
      removals.push({ digest: table.digest(entry), sizeBytes: table.f64(entry, SIZE), nth: counted });
      return;
    }
    // The thread that is about to put a file in place finds the entry condemned and removes the file itself.
    if (state === STATES.replacing) table.settle(entry, STATES.deleting, 0);
    const generation = table.u32(entry, GENERATION) | 0;
    others.push({ entry, generation, nth: state === STATES.replacing ? nth : undefined });
  }

  #describe(entry: number): IndexedEntry {
    const table = this.#table;
    const state = table.u8(entry, STATE);
    const mayBeThere = state === STATES.unsure || (state === STATES.counted && !this.isLoaded);
    return {
      entry,
      generation: table.u32(entry, GENERATION) | 0,
      file: FILES[state] ?? (mayBeThere ? 'unsure' : 'absent'),
      uses: table.u32(entry, USES),
      validMs: table.f64(entry, VALID),
      isChecked: table.u8(entry, CHECKED) === 1,
      remembered: table.u16(entry, REMEMBERED),
    };
  }

  #facts(): IndexFacts {
    const { u32, f64 } = this.#memory;
    return {
      entries: u32[ENTRIES_WORD] as number,
      bytes: f64[BYTES_DOUBLE] as number,
      freeBytes: this.#table.freeBlocks * BLOCK_BYTES,
      capacityBytes: this.#table.geometry.blocks * BLOCK_BYTES,
      isLoaded: this.isLoaded,
    };
  }

  #locked<T>(act: () => T): T | undefined {
    if (!this.#lock.acquire()) return undefined;
    try {
      return act();
    } finally {
      this.#lock.release();
    }
  }
}
