import { setTimeout as sleep } from 'node:timers/promises';
import type { StoredEntry } from '../store.ts';
import type { ReadOptions } from './entry-reader.ts';

type Entries = readonly StoredEntry[];

/** A read that is under way, or whose entries no call has taken yet. */
interface Read {
  readonly counter: number;
  readonly entries: Promise<Entries>;
}

/** Maximum number of entries of one read, of all streams together. */
const MOST_READ = 1_000;
/** Pause until a stream that cannot be read is tried again, while others can be read. */
const AGAIN_MS = 500;

/**
 * Reads streams that no single command can read. Each stream has a read of its own. A call returns the entries of the
 * first read that ends; the other reads go on until the next call.
 */
export class SplitReads {
  readonly #readOne: (stream: string, counter: number, options: ReadOptions) => Promise<Entries>;
  /** By stream. */
  readonly #reads = new Map<string, Read>();

  constructor(readOne: (stream: string, counter: number, options: ReadOptions) => Promise<Entries>) {
    this.#readOne = readOne;
  }

  /** Returns entries after counters; an empty map if there were none for `waitMs`. Rejects if no stream can be read. */
  read(behind: ReadonlyMap<string, number>, waitMs: number): Promise<ReadonlyMap<string, Entries>> {
    for (const stream of this.#reads.keys()) if (!behind.has(stream)) this.#reads.delete(stream);
    const untilMs = performance.now() + waitMs;
    const most = Math.ceil(MOST_READ / behind.size);
    const found = new Map<string, Entries>();
    const failed = new Set<string>();
    let isOver = false;
    return new Promise((resolve, reject) => {
      const end = (fault?: unknown): void => {
        isOver = true;
        if (fault === undefined) resolve(found);
        else reject(fault as Error);
      };
      const follow = async ([stream, counter]: readonly [string, number]): Promise<void> => {
        do {
          const leftMs = Math.max(0, untilMs - performance.now());
          try {
            const entries = await this.#start(stream, counter, { waitMs: leftMs, most });
            failed.delete(stream);
            if (entries.length > 0 && !isOver) found.set(stream, entries);
            if (entries.length > 0) return end();
          } catch (error) {
            failed.add(stream);
            if (failed.size === behind.size) return end(error);
            await sleep(AGAIN_MS, undefined, { ref: false });
          }
        } while (!isOver && performance.now() < untilMs);
      };
      void Promise.all([...behind].map(follow)).then(() => end());
    });
  }

  #start(stream: string, counter: number, options: ReadOptions): Promise<Entries> {
    const former = this.#reads.get(stream);
    if (former?.counter === counter) return former.entries;
    // Each stream has one connection: a command that still waits on it ends first.
    const begun = former ? former.entries.then(ignore, ignore) : Promise.resolve();
    const entries = begun.then(() => this.#readOne(stream, counter, options));
    const read = { counter, entries };
    const forget = (): void => {
      if (this.#reads.get(stream) === read) this.#reads.delete(stream);
    };
    this.#reads.set(stream, read);
    entries.then(({ length }) => length === 0 && forget(), forget);
    return entries;
  }
}

function ignore(): void {}
