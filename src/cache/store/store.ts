import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { ErrorLog } from '../../log/index.ts';
import { systemFailure } from '../../system/index.ts';
import type { CacheIndex, IndexedEntry, IndexFacts, Purge, PurgeList, Removal } from '../../zone/index.ts';
import type { CacheMeter, EvictionReason, PurgedBy } from './cache-meter.ts';
import type { CacheDirectory } from './directory.ts';
import { encodeTimes, type EntryTimes, TIMES_AT, type Variants } from './entry-head.ts';
import { type EntryName, named, nameOf, variantName, type VariantOf } from './entry-name.ts';
import { closeFile, writeAt } from './file-calls.ts';
import { Fill, type Filling, type FillTarget, type Placed } from './fill.ts';
import { LockQueue } from './lock-queue.ts';
import { purgeAll } from './purging.ts';
import { isEntry, readEntry, type StoredEntry } from './stored-entry.ts';

/** Bytes of small entries that one worker keeps in memory for each cache, and the cost of an entry besides its body. */
const KEPT_BYTES = 16_777_216;
const ENTRY_BYTES = 1_024;
/** Files that one worker keeps open for each cache. */
const MOST_OPENED = 128;
/** How often a use of an entry in memory is recorded in the index. */
const TOUCH_MS = 1_000;
/** Longest wait for an entry that is being put in place. */
const ARRIVAL_MS = 1_000;
/** Nothing is stored for this long after a fault of the disk; one line in the log says so. */
const PAUSE_MS = 10_000;
const MOST_TRIES = 3;
/** Number of entries that are removed at a time when there is no room. */
const EVICTED = 16;
/** Errors when the process or the system has no free descriptors. */
const EXHAUSTED: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);
/** Errors of a disk without room. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/** The result of looking for the response to a request. */
export interface Found {
  /** The name of the stored response, or of the one to be stored. */
  readonly name: EntryName;
  /** The variants of the key. */
  readonly varies?: Variants | undefined;
  /** Fresh or expired. The receiver must release it. */
  readonly entry?: StoredEntry;
  /** Absent: the index is full, and the response cannot be stored. */
  readonly indexed?: IndexedEntry | undefined;
}

interface Kept {
  readonly name: EntryName;
  readonly entry: StoredEntry;
  readonly indexed: IndexedEntry;
  touchedMs: number;
}

/** The parts of a store. */
interface StoreParts {
  readonly name: string;
  readonly index: CacheIndex;
  readonly directory: CacheDirectory;
  readonly log: ErrorLog;
  readonly meter: CacheMeter;
}

/** The stored responses of one cache, as one worker sees them. */
export class CacheStore implements FillTarget {
  readonly name: string;
  readonly index: CacheIndex;
  readonly directory: CacheDirectory;
  readonly meter: CacheMeter;
  readonly locks = new LockQueue(this);
  readonly #parts: StoreParts;
  /** When a fault of a single file was last logged. */
  #toldMs = -Infinity;
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ entry }, text) => ENTRY_BYTES + entry.sizeBytes + text.length * 2,
  });
  /** Entries with their bodies in files, since opening a file takes longer than reading it. */
  readonly #opened = new LRUCache<string, Kept>({
    max: MOST_OPENED,
    dispose: ({ entry }) => entry.release(),
  });
  #unreadableMs = -PAUSE_MS;
  readonly #arriving = new Map<string, Promise<void>>();

  constructor(parts: StoreParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.index = parts.index;
    this.directory = parts.directory;
    this.meter = parts.meter;
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return Date.now();
  }

  /** Looks for the response to a key. Returns a promise unless the response is in memory. */
  find(key: string, look: Looking): Found | Promise<Found> {
    const kept = this.#current(key);
    if (!kept) return this.#search(nameOf(key), look);
    const { varies } = kept.entry.head;
    if (!varies) return used(kept);
    const name = variantName(key, varies, look.variantOf);
    const variant = this.#current(textOf(name));
    return variant ? { ...used(variant), varies } : this.#search(name, look, varies);
  }

  /** Reads the stored response to a key, fresh or expired, without changing anything. The caller must release it. */
  async look(key: string, variantOf: VariantOf): Promise<StoredEntry | undefined> {
    for (let name = nameOf(key); ;) {
      const entry = await this.directory.open(name.digest).then(readEntry, () => undefined);
      if (!entry) return undefined;
      const { key: stored, variant, varies } = entry.head;
      if (stored === key && variant === name.variant && !varies) return entry;
      entry.release();
      if (stored !== key || !varies || name.variant !== '') return undefined;
      name = variantName(key, varies, variantOf);
    }
  }

  /** Begins to store a response; `undefined`: storing pauses after a fault of the disk. */
  fill(filling: Filling): Fill | undefined {
    return this.index.disk.pausedUntilMs > this.now() ? undefined : new Fill(this, filling);
  }

  /** Begins to store the variants of a key. From now on, lookups wait for that. */
  vary(key: string, names: readonly string[], filling: Pick<Filling, 'times' | 'since'>): Variants {
    const varies = { names, epoch: randomBytes(9).toString('base64url') };
    const description = { key, variant: '', tags: [], varies };
    void this.fill({ ...filling, name: nameOf(key), description })?.finish();
    return varies;
  }

  /** Records that a stale entry is valid again: at once for this worker, for the others when the file is written. */
  async renew(name: EntryName, entry: StoredEntry, times: EntryTimes): Promise<void> {
    const { digest } = name;
    const keep = (): void => {
      const indexed = this.index.renew(digest, times.validMs);
      if (indexed && entry.isInMemory)
        this.#keep({ name, entry: entry.renewed(times), indexed, touchedMs: this.now() });
    };
    if (entry.isInMemory) keep();
    try {
      const fd = await this.directory.open(digest, 'change');
      try {
        await writeAt(fd, encodeTimes(times), TIMES_AT);
      } finally {
        await closeFile(fd);
      }
      keep();
    } catch (error) {
      // It was purged meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.diskFault('write', error);
    }
  }

  /** Does a purge. Resolves with the number of its entries, once no worker serves them. */
  async purge({ kind, text }: Purge, by: PurgedBy): Promise<number> {
    const [count = 0] = await this.purgeAll({ kind, texts: [text] }, by);
    return count;
  }

  /** Does several purges at once. Resolves as `purge` does, with a number for each text. */
  purgeAll(purges: PurgeList, by: PurgedBy): Promise<readonly number[]> {
    return purgeAll(this, purges, by);
  }

  /** Removes the least recently used entries, at most `most`, until it is enough. Resolves with their number. */
  async evict(
    reason: EvictionReason,
    most: number,
    isEnough: (usedMs: number, facts: IndexFacts) => boolean = () => false,
  ): Promise<number> {
    const removals = this.index.condemn(most, isEnough);
    await this.remove(removals);
    this.meter.evicted(reason, removals.length);
    return removals.length;
  }

  /** Records a file of the directory in the index. Removes it if it is damaged, or was purged. */
  async adopt(digest: Buffer): Promise<void> {
    const indexed = this.index.peek(digest);
    if (indexed && indexed.file !== 'unsure') return;
    const fd = await this.directory.open(digest);
    if (!(await isEntry(fd))) return closeFile(fd);
    const entry = await readEntry(fd);
    entry?.release();
    const name = entry && named(entry.head.key, entry.head.variant);
    if (!name?.digest.equals(digest)) this.#damaged(digest, 'head');
    else if (this.#found(name, entry as StoredEntry) !== 'purged') return;
    await this.directory.remove(digest);
  }

  /** Removes the files of entries whose removal has begun. */
  async remove(removals: readonly Pick<Removal, 'digest'>[]): Promise<void> {
    for (const { digest } of removals) {
      await this.directory.remove(digest).catch((error: unknown) => this.diskFault('unlink', error));
      this.index.finishRemoval(digest);
    }
  }

  async arrives(digest: Buffer, arrival: Promise<void>): Promise<void> {
    const name = digest.toString('hex');
    this.#arriving.set(name, arrival);
    await arrival;
    if (this.#arriving.get(name) === arrival) this.#arriving.delete(name);
  }

  placed(name: EntryName, { description, times, sizeBytes, entry }: Placed): void {
    const varies = description.varies !== undefined;
    const facts = { sizeBytes, validMs: times.validMs, isChecked: true, varies };
    const indexed = this.index.finishStore(name.digest, facts);
    this.index.disk.succeeded();
    if (indexed === 'purged') void this.remove([name]);
    // The index has the time at which the storing began: a use after that has not been recorded yet.
    else if (indexed && entry) this.#keep({ name, entry, indexed, touchedMs: times.storedMs });
  }

  notStored(reason: string): void {
    this.meter.notStored(reason);
  }

  /** Pauses the storing for a while, and logs that once. */
  diskFault(call: string, error: unknown): void {
    this.meter.fault('disk');
    this.index.disk.failed(this.now());
    if (FULL.has((error as NodeJS.ErrnoException).code ?? '')) void this.evict('free', EVICTED);
    const nowMs = this.now();
    if (this.index.disk.pausedUntilMs > nowMs) return;
    this.index.disk.pauseUntil(nowMs + PAUSE_MS);
    const failure = systemFailure(call, this.directory.path, error);
    this.#parts.log.write('crit', `${failure}, cache "${this.name}" stores nothing for 10s`);
  }

  /** Reports a file that cannot be used; the rest of the cache is not affected. */
  fileFault(call: string, path: string, error: unknown): void {
    this.meter.fault('file');
    const nowMs = this.now();
    if (nowMs < this.#toldMs + PAUSE_MS) return;
    this.#toldMs = nowMs;
    const failure = systemFailure(call, path, error);
    this.#parts.log.write('crit', `${failure}, left out of cache "${this.name}"`);
  }

  close(): void {
    this.meter.close();
    this.#kept.clear();
    this.#opened.clear();
  }

  /** Closes removed files, whose content stays on the disk until then. */
  closeRemoved(): void {
    for (const [text, { indexed }] of this.#opened)
      if (!this.index.isCurrent(indexed)) this.#opened.delete(text);
  }

  /** Returns the entry in memory, if no thread has changed it. */
  #current(text: string): Kept | undefined {
    const kept = this.#kept.get(text) ?? this.#opened.get(text);
    if (!kept) return undefined;
    if (!this.index.isCurrent(kept.indexed)) {
      this.#kept.delete(text);
      this.#opened.delete(text);
      return undefined;
    }
    const nowMs = this.now();
    if (nowMs - kept.touchedMs >= TOUCH_MS) {
      kept.touchedMs = nowMs;
      this.index.touch(kept.indexed, nowMs);
    }
    return kept;
  }

  #keep(kept: Kept): void {
    this.#kept.set(textOf(kept.name), kept);
  }

  /** Looks into the index, and reads the file. */
  async #search(name: EntryName, look: Looking, varies?: Variants): Promise<Found> {
    let indexed = (look.isAgain && this.index.peek(name.digest)) || (await this.#use(name));
    for (let tries = 0; indexed && tries < MOST_TRIES; tries++) {
      if (indexed.file === 'arriving') await this.#arrival(name.digest);
      else if (indexed.file === 'absent') break;
      else {
        const outcome = await this.#read(name, indexed, look.verifyBytes);
        if (outcome === 'absent') break;
        if (outcome !== 'changed') {
          const { varies: variants } = outcome.entry.head;
          if (!variants) return { name, varies, ...outcome };
          return this.#search(variantName(name.key, variants, look.variantOf), look, variants);
        }
      }
      indexed = this.index.peek(name.digest);
    }
    return { name, varies, indexed };
  }

  /** Counts a use. If the index is full, removes the least recently used entries. */
  async #use({ digest, key }: EntryName): Promise<IndexedEntry | undefined> {
    const indexed = this.index.use(digest, key, this.now());
    if (indexed) return indexed;
    await this.evict('index', EVICTED);
    return this.index.use(digest, key, this.now());
  }

  /** Waits for an entry that this or another worker is putting in place. */
  async #arrival(digest: Buffer): Promise<void> {
    const arrival = this.#arriving.get(digest.toString('hex'));
    if (arrival) return arrival;
    for (let waitedMs = 0, stepMs = 1; waitedMs < ARRIVAL_MS; waitedMs += stepMs, stepMs *= 2) {
      await sleep(stepMs);
      if (this.index.peek(digest)?.file !== 'arriving') return undefined;
    }
  }

  async #read(
    name: EntryName,
    indexed: IndexedEntry,
    verifyBytes: number,
  ): Promise<Pick<Required<Found>, 'entry' | 'indexed'> | 'absent' | 'changed'> {
    const entry = await this.#open(name, indexed);
    if (entry === 'absent') return 'absent';
    if (entry === 'damaged' || !(await this.#isSound(entry, { name, indexed, verifyBytes }))) {
      if (entry !== 'damaged') entry.release();
      return (await this.#discard(name, indexed)) ? 'absent' : 'changed';
    }
    const now = indexed.file === 'unsure' ? this.#found(name, entry) : indexed;
    if (now && now !== 'purged' && this.index.isCurrent(now)) {
      const isCompared = entry.isInMemory || entry.sizeBytes <= verifyBytes;
      if (!now.isChecked) this.#check(entry, { name, now, isCompared });
      const kept = { name, entry, indexed: now, touchedMs: this.now() };
      if (entry.isInMemory) this.#keep(kept);
      else if (now.isChecked || isCompared) this.#opened.set(textOf(name), used(kept));
      return { entry, indexed: now };
    }
    entry.release();
    if (now === 'purged') await this.directory.remove(name.digest).catch(() => undefined);
    return now === 'purged' ? 'absent' : 'changed';
  }

  /** Opens the file of an entry. */
  async #open(
    { digest, key, variant }: EntryName,
    indexed: IndexedEntry,
  ): Promise<StoredEntry | 'absent' | 'damaged'> {
    try {
      const entry = await readEntry(await this.directory.open(digest));
      if (entry && entry.head.key === key && entry.head.variant === variant) return entry;
      entry?.release();
      this.#damaged(digest, 'head');
      return 'damaged';
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (indexed.file === 'unsure' && code === 'ENOENT') return 'absent';
      this.meter.fault('file');
      this.#unreadable(systemFailure('open', this.directory.pathOf(digest), error));
      // Without a free descriptor, the state of the file is unknown.
      if (EXHAUSTED.has(code)) return 'absent';
      return 'damaged';
    }
  }

  /** Returns whether a body that was not checked since the start is intact, if that must be known before it is sent. */
  async #isSound(
    entry: StoredEntry,
    { name, indexed, verifyBytes }: { name: EntryName; indexed: IndexedEntry; verifyBytes: number },
  ): Promise<boolean> {
    if (indexed.isChecked && !entry.isInMemory) return true;
    // A body in memory is compared at once, since it is sent without being read again.
    if (!entry.isInMemory && entry.sizeBytes > verifyBytes) return true;
    if (await entry.isIntact()) return true;
    this.#damaged(name.digest, 'body');
    return false;
  }

  /** Records that the checksum of a body was compared, or has it compared while the body is sent. */
  #check(
    entry: StoredEntry,
    { name, now, isCompared }: { name: EntryName; now: IndexedEntry; isCompared: boolean },
  ): void {
    if (isCompared) return this.index.checked(now);
    entry.watch((isRight) => {
      if (isRight) return this.index.checked(now);
      this.#damaged(name.digest, 'body');
      void this.#discard(name, now);
    });
  }

  /** Usually, many files cannot be opened at the same time: only the first one is logged. */
  #unreadable(failure: string): void {
    const nowMs = this.now();
    if (nowMs - this.#unreadableMs < PAUSE_MS) return;
    this.#unreadableMs = nowMs;
    this.#parts.log.write('crit', `${failure}, further ones are counted only for 10s`);
  }

  #damaged(digest: Buffer, what: 'head' | 'body'): void {
    const path = this.directory.pathOf(digest);
    this.#parts.log.write('crit', `the ${what} of cache file "${path}" is damaged: it is removed`);
    this.meter.fault(what);
  }

  #found({ digest, key }: EntryName, { head }: StoredEntry): IndexedEntry | 'purged' | undefined {
    const sizeBytes = head.bodyAt + head.bodyBytes;
    const varies = head.varies !== undefined;
    const facts = { sizeBytes, validMs: head.times.validMs, isChecked: false, varies };
    return this.index.found({ digest, key, tags: head.tags }, facts);
  }

  /** Removes an entry that cannot be served. False: it was changed meanwhile. */
  async #discard({ digest }: EntryName, indexed: IndexedEntry): Promise<boolean> {
    if (!this.index.beginRemoval(digest, indexed.generation)) return false;
    await this.remove([{ digest }]);
    return true;
  }
}

/** The way in which a request looks for a response. */
interface Looking {
  readonly variantOf: VariantOf;
  /** The checksum of a larger body is compared while it is sent, not before. */
  readonly verifyBytes: number;
  /** The request has looked before: its use is already counted. */
  readonly isAgain?: boolean;
}

/** Adds a user to an entry that is kept. */
function used(kept: Kept): Kept {
  kept.entry.use();
  return kept;
}

function textOf({ key, variant }: EntryName): string {
  return variant === '' ? key : `${key}\n${variant}`;
}
