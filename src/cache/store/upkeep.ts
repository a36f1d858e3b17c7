import { readdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CacheDirectory } from './directory.ts';
import type { CacheStore } from './store.ts';

/** The limits of a cache, and the size of a portion of work. */
interface Limits {
  readonly inactiveMs: number;
  /** 0: no limit. */
  readonly maxBytes: number;
  readonly minFreeBytes: number;
  readonly managerFiles: number;
  readonly managerSleepMs: number;
  readonly managerThresholdMs: number;
  readonly loaderFiles: number;
  readonly loaderSleepMs: number;
  readonly loaderThresholdMs: number;
}

const TICK_MS = 1_000;
/** The part of the index that is kept free, as in nginx, so that new entries need not wait for removals. */
const FREE_PART = 1 / 8;

/**
 * Looks after the directory of a cache: reads it after a start, and removes entries that are too old or too many. One
 * worker does this for all; when it ends, another one takes its seat.
 */
export class Upkeep {
  readonly #store: CacheStore;
  readonly #limits: Limits;
  readonly #timer: NodeJS.Timeout;
  #isBusy = false;
  #isStopped = false;
  /** When room was last made on the file system (`performance.now`). */
  #freedMs = -Infinity;

  constructor(store: CacheStore, limits: Limits) {
    this.#store = store;
    this.#limits = limits;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
    setImmediate(() => this.#tick()).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#store.index.leaveSeat();
  }

  #tick(): void {
    this.#store.closeRemoved();
    if (this.#isBusy || this.#isStopped || !this.#store.index.takeSeat()) return;
    this.#isBusy = true;
    this.#work()
      .catch((error: unknown) => this.#store.diskFault('opendir', error))
      .finally(() => {
        this.#isBusy = false;
      });
  }

  async #work(): Promise<void> {
    const { index } = this.#store;
    if (!index.isLoaded) {
      await this.#load();
      if (!this.#isStopped) index.setLoaded();
    }
    await this.#sweep();
  }

  /** Reads the directory. Files of other programs are left alone. */
  async #load(): Promise<void> {
    const { loaderFiles, loaderSleepMs, loaderThresholdMs } = this.#limits;
    const portion = new Portion({
      files: loaderFiles,
      sleepMs: loaderSleepMs,
      thresholdMs: loaderThresholdMs,
    });
    for await (const path of this.#files(this.#store.directory.path)) {
      if (this.#isStopped) return;
      await this.#take(path).catch((error: unknown) => this.#leaveOut('open', path, error));
      await portion.next();
    }
  }

  async #take(path: string): Promise<void> {
    const { directory } = this.#store;
    const name = path.slice(path.lastIndexOf('/') + 1);
    const digest = CacheDirectory.digestOfName(name);
    if (digest && directory.pathOf(digest) === path) await this.#store.adopt(digest);
    else if (directory.isLeft(name)) await directory.removePart(path);
  }

  /** Skips a file that cannot be read, so that the others still get into the cache. */
  #leaveOut(call: string, path: string, error: unknown): void {
    // It was removed meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#store.fileFault(call, path, error);
  }

  async *#files(directory: string): AsyncGenerator<string, void> {
    const entries = await readdir(directory, { withFileTypes: true }).catch((error: unknown) => {
      this.#leaveOut('opendir', directory, error);
      return [];
    });
    for (const entry of entries) {
      const path = join(directory, entry.name);
      if (entry.isFile()) yield path;
      else if (entry.isDirectory() && /^[0-9a-f]{1,2}$/.test(entry.name)) yield* this.#files(path);
    }
  }

  async #sweep(): Promise<void> {
    const { inactiveMs, maxBytes, managerFiles: files } = this.#limits;
    const store = this.#store;
    const { capacityBytes } = store.index.facts();
    const steps = [
      () => store.evict('inactive', files, (usedMs) => usedMs > store.now() - inactiveMs),
      () => (maxBytes > 0 ? store.evict('size', files, (_used, facts) => facts.bytes <= maxBytes) : 0),
      () => store.evict('index', files, (_used, facts) => facts.freeBytes >= capacityBytes * FREE_PART),
      await this.#makeRoom(),
    ];
    const { managerSleepMs: sleepMs, managerThresholdMs: thresholdMs } = this.#limits;
    const portion = new Portion({ files: 1, sleepMs, thresholdMs });
    for (const step of steps) {
      while (!this.#isStopped && (await step()) > 0) await portion.next();
    }
  }

  /**
   * Returns the function that removes as much as the file system lacks for `min_free`. Removed files that workers have
   * open still take room, so the file system is asked again only after all have closed them.
   */
  async #makeRoom(): Promise<() => Promise<number>> {
    const { minFreeBytes, managerFiles: files } = this.#limits;
    const nothing = (): Promise<number> => Promise.resolve(0);
    if (minFreeBytes === 0 || performance.now() < this.#freedMs + 2 * TICK_MS) return nothing;
    const lackingBytes = minFreeBytes - (await this.#freeBytes());
    if (lackingBytes <= 0) return nothing;
    this.#freedMs = performance.now();
    const mostBytes = this.#store.index.facts().bytes - lackingBytes;
    return () => this.#store.evict('free', files, (_used, facts) => facts.bytes <= mostBytes);
  }

  /** Returns the free bytes of the file system. Without the directory, nothing is stored and nothing can be removed. */
  async #freeBytes(): Promise<number> {
    try {
      const { bavail, bsize } = await statfs(this.#store.directory.path);
      return bavail * bsize;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Infinity;
      throw error;
    }
  }
}

/** The number of files or the time between two pauses, and the length of a pause. */
interface PortionRules {
  readonly files: number;
  readonly sleepMs: number;
  readonly thresholdMs: number;
}

/** Work that pauses after a number of files or a time, so that requests are not delayed. */
class Portion {
  readonly #rules: PortionRules;
  #files = 0;
  #startedMs = performance.now();

  constructor(rules: PortionRules) {
    this.#rules = rules;
  }

  /** To be called after each file. */
  async next(): Promise<void> {
    const { files, sleepMs, thresholdMs } = this.#rules;
    if (++this.#files < files && performance.now() - this.#startedMs < thresholdMs) return;
    await sleep(sleepMs, undefined, { ref: false });
    this.#files = 0;
    this.#startedMs = performance.now();
  }
}
