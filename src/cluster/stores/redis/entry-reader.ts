import { type StoredEntry, StoreLost, StoreRefused } from '../store.ts';
import { type Page, readPage, readRange, readStreams } from './redis-replies.ts';
import { PAGE } from './redis-scripts.ts';
import { type Commands, isTooLarge } from './servers/index.ts';

/** Maximum number of entries of one read. */
const MOST_READ = 1_000;
/** Maximum number of entries of one command of `tail`. Each has its own timeout, which slow connections need. */
const MOST_IN_PAGE = 250;
/** Maximum size of a page of large entries, and of one entry. */
const MAX_PAGE_BYTES = 1_048_576;
const LAST_ID = '18446744073709551615';
/** How long a key that is not a stream is left out. */
const AGAIN_MS = 1_000;

/** An id range for `XRANGE`, `XREVRANGE` and the script that replaces them. */
interface Range {
  readonly command: 'XRANGE' | 'XREVRANGE';
  readonly from: string;
  readonly to: string;
  /** The entry `from` was read before. */
  readonly isRead: boolean;
  readonly count: number;
}

export interface ReadOptions {
  readonly waitMs: number;
  /** Maximum number of entries, of all streams together. */
  readonly most?: number;
}

/** Reads the entries of streams. */
export class EntryReader {
  readonly #keyOf: (stream: string) => string;
  /** Streams of which a read was too large. They are read in small pages until their end is reached. */
  readonly #large = new Set<string>();
  /** Streams whose keys are of another type, and until when they are left out: one of them fails a read of all. */
  readonly #wrong = new Map<string, number>();
  /** Number of entries of one read. Halved when a reply does not arrive in time. */
  #most = MOST_READ;

  constructor(keyOf: (stream: string) => string) {
    this.#keyOf = keyOf;
  }

  /** Returns entries after counters, the oldest first; an empty map if there were none for `waitMs`. */
  async read(
    commands: Commands,
    behind: ReadonlyMap<string, number>,
    options: ReadOptions,
  ): Promise<ReadonlyMap<string, readonly StoredEntry[]>> {
    const found = await this.#readLarge(commands, behind);
    if (found.size > 0) return found;
    const nowMs = performance.now();
    for (const [stream, untilMs] of this.#wrong) if (untilMs <= nowMs) this.#wrong.delete(stream);
    const rest = new Map([...behind].filter(([stream]) => !this.#wrong.has(stream)));
    try {
      return await this.#readAll(commands, rest.size > 0 ? rest : behind, options);
    } catch (error) {
      if (!isWrongType(error) || behind.size === 1) throw error;
      await this.#findWrong(commands, rest);
      if (rest.size === 0 || [...rest.keys()].every((stream) => this.#wrong.has(stream))) throw error;
      return new Map();
    }
  }

  async #findWrong(commands: Commands, behind: ReadonlyMap<string, number>): Promise<void> {
    for (const [stream, counter] of behind) {
      try {
        await this.#readAll(commands, new Map([[stream, counter]]), { waitMs: 0, most: 1 });
      } catch (error) {
        if (!isWrongType(error)) throw error;
        this.#wrong.set(stream, performance.now() + AGAIN_MS);
      }
    }
  }

  /** Returns the newest entries, the oldest first. */
  async newest(commands: Commands, stream: string, count: number): Promise<readonly StoredEntry[]> {
    const entries: StoredEntry[] = [];
    let from = '+';
    while (entries.length < count) {
      const most = Math.min(count - entries.length, MOST_IN_PAGE);
      const isRead = entries.length > 0;
      const range: Range = { command: 'XREVRANGE', from, to: '-', isRead, count: most };
      const page = await this.#page(commands, stream, range);
      entries.push(...page.entries);
      if (!page.hasMore || page.lastId === undefined) break;
      from = page.lastId;
    }
    return entries.reverse();
  }

  async #readAll(
    commands: Commands,
    behind: ReadonlyMap<string, number>,
    { waitMs, most = MOST_READ }: ReadOptions,
  ): Promise<ReadonlyMap<string, readonly StoredEntry[]>> {
    const streams = new Map([...behind.keys()].map((stream) => [this.#keyOf(stream), stream]));
    const count = Math.ceil(Math.min(most, this.#most) / behind.size);
    const wait = Math.ceil(waitMs);
    // For Redis, 0 means without end.
    const block = wait > 0 ? ['BLOCK', String(wait)] : [];
    const args = [
      'COUNT',
      String(count),
      ...block,
      'STREAMS',
      ...streams.keys(),
      ...[...behind.values()].map(lastIdOf),
    ];
    try {
      const found = await commands.ask({ name: 'xread', args, waitMs: wait }, readStreams);
      this.#most = Math.min(MOST_READ, 2 * this.#most);
      return new Map([...found].map(([key, entries]) => [streams.get(key) ?? key, entries]));
    } catch (error) {
      if (isTooLarge(error)) for (const stream of behind.keys()) this.#large.add(stream);
      else if (error instanceof StoreLost) this.#most = Math.max(1, Math.floor(this.#most / 2));
      throw error;
    }
  }

  async #readLarge(
    commands: Commands,
    behind: ReadonlyMap<string, number>,
  ): Promise<ReadonlyMap<string, readonly StoredEntry[]>> {
    const found = new Map<string, readonly StoredEntry[]>();
    for (const [stream, counter] of behind) {
      if (!this.#large.has(stream)) continue;
      const from = counter < Number.MAX_SAFE_INTEGER ? `${counter + 1}-0` : `${LAST_ID}-${LAST_ID}`;
      const range: Range = { command: 'XRANGE', from, to: '+', isRead: false, count: MOST_IN_PAGE };
      const page = await this.#page(commands, stream, range);
      if (!page.hasMore) this.#large.delete(stream);
      if (page.entries.length > 0) found.set(stream, page.entries);
    }
    return found;
  }

  async #page(commands: Commands, stream: string, range: Range): Promise<Page> {
    const { command, from, to, isRead, count } = range;
    const key = this.#keyOf(stream);
    if (this.#large.has(stream)) {
      const args = [command, from, to, isRead ? '1' : '0', String(count), String(MAX_PAGE_BYTES)];
      return commands.run({ script: PAGE, keys: [key], args }, readPage);
    }
    const most = isRead ? count + 1 : count;
    const known = isRead ? from : undefined;
    const args = [key, from, to, 'COUNT', String(most)];
    try {
      return await commands.ask({ name: command, args }, (reply) => readRange(reply, { count: most, known }));
    } catch (error) {
      if (isTooLarge(error)) this.#large.add(stream);
      throw error;
    }
  }
}

function isWrongType(error: unknown): boolean {
  return error instanceof StoreRefused && error.message.startsWith('WRONGTYPE');
}

/** The highest id with this counter, so that entries that other programs added after it are not read again. */
function lastIdOf(counter: number): string {
  return `${counter < Number.MAX_SAFE_INTEGER ? counter : LAST_ID}-${LAST_ID}`;
}
