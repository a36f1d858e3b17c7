import { ALIVE_WORD, ALIVE_WORDS } from '../header.ts';
import { clearAlive, setAlive, ZoneLock } from '../lock.ts';

/*
 * Counters in shared memory. One directory names the series for all threads, one row per thread holds the numbers:
 * only its own thread writes a row, so counting needs no atomic operation, and a reader adds the rows up.
 *
 *   directory   0 i32 entries   4 i32 bytes of text   8 i32 capacity   12 i32 limit   16 i32 lock
 *               128 16 words of alive flags
 *               192 entries of 4 i32: kind, offset and length of the text, scale
 *               text in UTF-8: JSON `[name, help, labels]`
 *   row         16 f64 per entry
 *                 counter: value · gauge: value, 1 when there is one · histogram: 13 buckets, sum
 */

const ENTRIES_WORD = 0;
const TEXT_BYTES_WORD = 1;
const CAPACITY_WORD = 2;
const LIMIT_WORD = 3;
const FIRST_ENTRY_WORD = ALIVE_WORD + ALIVE_WORDS;
const ENTRY_WORDS = 4;
export const CELLS = 16;
export const PRESENT = 1;

/** Extra entries beyond the limit: one per metric for the series that the limit refuses. */
const RESERVE = 64;
/** A name with its help and labels takes about 200 bytes; longer ones use what shorter ones leave. */
const TEXT_BYTES_PER_ENTRY = 384;

/** The kinds of series; the directory stores their index in this list. */
const KINDS = ['counter', 'gauge', 'histogram', 'untyped'] as const;
export type Kind = (typeof KINDS)[number];
const GAUGE = KINDS.indexOf('gauge');

/** Shared by all threads of the process. Workers get new rows with the next configuration. */
export interface CounterMemory {
  readonly directory: SharedArrayBuffer;
  /** By thread id: the master's at 0, followed by those of the workers. */
  readonly rows: readonly SharedArrayBuffer[];
}

/** Allocates room for a number of series, once, in the master; `threads` includes the master. */
export function createCounterMemory(maxSeries: number, threads: number): CounterMemory {
  const capacity = maxSeries + RESERVE;
  const bytes = 4 * (FIRST_ENTRY_WORD + capacity * ENTRY_WORDS) + capacity * TEXT_BYTES_PER_ENTRY;
  const directory = new SharedArrayBuffer(bytes);
  const words = new Int32Array(directory, 0, FIRST_ENTRY_WORD);
  words[CAPACITY_WORD] = capacity;
  words[LIMIT_WORD] = maxSeries;
  return withRows({ directory, rows: [] }, threads);
}

/** Returns the memory with a row for each of `threads` threads. */
export function withRows({ directory, rows }: CounterMemory, threads: number): CounterMemory {
  const missing = Math.max(0, threads - rows.length);
  const added = Array.from({ length: missing }, () => new SharedArrayBuffer(rowBytes(directory)));
  return { directory, rows: [...rows, ...added] };
}

/**
 * Called by the master after a thread has exited and before its id is reused. Its counters stay, its gauges are
 * removed, and its lock is released.
 */
export function leaveCounters({ directory, rows }: CounterMemory, threadId: number): void {
  const row = rows[threadId];
  if (!row) return;
  const words = new Int32Array(directory, 0, FIRST_ENTRY_WORD + capacityOf(directory) * ENTRY_WORDS);
  clearAlive(words, threadId);
  // An entry that a dying thread had not finished is beyond the number of entries, so nothing needs repair.
  new ZoneLock(words, 0, () => undefined).takeOver(threadId);
  const cells = new Float64Array(row);
  for (let index = 0; index < Atomics.load(words, ENTRIES_WORD); index++) {
    if (Atomics.load(words, FIRST_ENTRY_WORD + index * ENTRY_WORDS) !== GAUGE) continue;
    cells[index * CELLS] = 0;
    cells[index * CELLS + PRESENT] = 0;
  }
}

export function capacityOf(directory: SharedArrayBuffer): number {
  return new Int32Array(directory, 0, FIRST_ENTRY_WORD)[CAPACITY_WORD] as number;
}

function rowBytes(directory: SharedArrayBuffer): number {
  return capacityOf(directory) * CELLS * Float64Array.BYTES_PER_ELEMENT;
}

/** Labels in the order in which they are shown. */
export type Labels = Readonly<Record<string, string>>;

/** Upper bounds of a histogram's first twelve buckets; the thirteenth has none. */
export const SCALES = {
  seconds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  bytes: [
    64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864, 268_435_456,
  ],
  counts: [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64],
} as const;
export type Scale = keyof typeof SCALES;
const SCALE_NAMES = Object.keys(SCALES) as readonly Scale[];

/** One series: a metric with one set of labels. */
export interface Series {
  readonly kind: Kind;
  readonly name: string;
  readonly help: string;
  readonly labels: Labels;
  /** Used by histograms. */
  readonly scale: Scale;
}

/** A series and its index in every row. */
export interface SeriesEntry extends Series {
  readonly index: number;
}

/** The names of all series as one thread sees them. Entries are never removed. */
export class CounterDirectory {
  readonly #words: Int32Array;
  readonly #text: Buffer;
  readonly #capacity: number;
  readonly #lock: ZoneLock;
  readonly #known = new Map<string, SeriesEntry>();

  constructor(directory: SharedArrayBuffer, threadId: number) {
    this.#capacity = capacityOf(directory);
    const words = FIRST_ENTRY_WORD + this.#capacity * ENTRY_WORDS;
    this.#words = new Int32Array(directory, 0, words);
    this.#text = Buffer.from(directory, words * 4);
    setAlive(this.#words, threadId);
    this.#lock = new ZoneLock(this.#words, threadId, () => undefined);
  }

  /**
   * Returns the index of a series, which is added if it is new. Once the limit is reached, returns the index of the
   * series `other` instead, or `undefined`.
   */
  indexOf(series: Series): number | undefined {
    const found = this.#find(series);
    if (found !== undefined || !this.#lock.acquire()) return found;
    try {
      return (
        this.#find(series) ??
        this.#add(series, this.#words[LIMIT_WORD] as number) ??
        this.#indexOfOther(series)
      );
    } finally {
      this.#lock.release();
    }
  }

  /** Returns every series that any thread has added. */
  entries(): Iterable<SeriesEntry> {
    this.#readNewEntries();
    return this.#known.values();
  }

  #indexOfOther(series: Series): number | undefined {
    // The sum of different gauges has no meaning.
    if (series.kind === 'gauge') return undefined;
    const labels = Object.fromEntries(Object.keys(series.labels).map((name) => [name, 'other']));
    const other = { ...series, labels };
    return this.#find(other) ?? this.#add(other, this.#capacity);
  }

  #find(series: Series): number | undefined {
    const key = keyOf(series);
    if (!this.#known.has(key)) this.#readNewEntries();
    return this.#known.get(key)?.index;
  }

  /**
   * Must be called under the lock. The number of entries is increased last, so that no reader sees an unfinished entry.
   */
  #add(series: Series, limit: number): number | undefined {
    const text = Buffer.from(keyOf(series));
    const index = Atomics.load(this.#words, ENTRIES_WORD);
    const offset = this.#words[TEXT_BYTES_WORD] as number;
    if (index >= limit || offset + text.length > this.#text.length) return undefined;
    this.#text.set(text, offset);
    const facts = [KINDS.indexOf(series.kind), offset, text.length, SCALE_NAMES.indexOf(series.scale)];
    this.#words.set(facts, FIRST_ENTRY_WORD + index * ENTRY_WORDS);
    this.#words[TEXT_BYTES_WORD] = offset + text.length;
    Atomics.store(this.#words, ENTRIES_WORD, index + 1);
    this.#readNewEntries();
    return index;
  }

  #readNewEntries(): void {
    const count = Atomics.load(this.#words, ENTRIES_WORD);
    for (let index = this.#known.size; index < count; index++) {
      const entry = this.#read(index);
      this.#known.set(keyOf(entry), entry);
    }
  }

  #read(index: number): SeriesEntry {
    const at = FIRST_ENTRY_WORD + index * ENTRY_WORDS;
    const [kind = 0, offset = 0, length = 0, scale = 0] = this.#words.subarray(at, at + ENTRY_WORDS);
    const text = this.#text.toString('utf8', offset, offset + length);
    const [name, help, labels] = JSON.parse(text) as [string, string, Labels];
    return { index, kind: KINDS[kind] as Kind, name, help, labels, scale: SCALE_NAMES[scale] as Scale };
  }
}

function keyOf({ name, help, labels }: Series): string {
  return JSON.stringify([name, help, labels]);
}
