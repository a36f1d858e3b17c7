import { ALIVE_WORD, ALIVE_WORDS } from '../header.ts';
import { clearAlive, setAlive, ZoneLock } from '../lock.ts';
import { exemplarTable } from './exemplars.ts';

/*
 * Counters in shared memory. One directory names the series for all threads, one row per thread holds the numbers:
 * only its own thread writes a row, so counting needs no atomic operation, and a reader adds the rows up.
 *
 *   directory   0 i32 entries   4 i32 bytes of text   8 i32 capacity   12 i32 limit   16 i32 lock
 *               24 i32 cells of a row in use   28 i32 number of the bounds of times
 *               128 16 words of alive flags
 *               192 20 f64: the bounds of times, in seconds
 *               352 entries of 5 i32: kind, offset and length of the text, scale, first cell
 *               text in UTF-8: JSON `[name, help, labels]`
 *   row         f64 cells: counter: value · gauge: value, 1 when there is one · histogram: a bucket for each bound and
 *               one more, sum
 */

const ENTRIES_WORD = 0;
const TEXT_BYTES_WORD = 1;
const CAPACITY_WORD = 2;
const LIMIT_WORD = 3;
const CELLS_WORD = 6;
const BOUNDS_WORD = 7;
/** Most bounds of times. */
export const MAX_BOUNDS = 20;
const BOUNDS_BYTE = 4 * (ALIVE_WORD + ALIVE_WORDS);
const FIRST_ENTRY_WORD = ALIVE_WORD + ALIVE_WORDS + 2 * MAX_BOUNDS;
const ENTRY_WORDS = 5;
export const PRESENT = 1;

/** Extra entries beyond the limit: one per metric for the series that the limit refuses. */
const RESERVE = 64;
/** A name with its help and labels takes about 200 bytes; longer ones use what shorter ones leave. */
const TEXT_BYTES_PER_ENTRY = 384;
/** A counter takes one cell, a histogram up to 22; most series are counters. */
const CELLS_PER_ENTRY = 16;
/** Cells that only the reserved entries may use. */
const RESERVED_CELLS = RESERVE * (MAX_BOUNDS + 2);

/** The kinds of series; the directory stores their index in this list. */
const KINDS = ['counter', 'gauge', 'histogram', 'untyped'] as const;
export type Kind = (typeof KINDS)[number];
const GAUGE = KINDS.indexOf('gauge');

/** Shared by all threads of the process. Workers get new rows with the next configuration. */
export interface CounterMemory {
  readonly directory: SharedArrayBuffer;
  /** By thread id: the master's at 0, followed by those of the workers. */
  readonly rows: readonly SharedArrayBuffer[];
  /** As `rows`: the traces of buckets. */
  readonly exemplars: readonly SharedArrayBuffer[];
}

/**
 * Allocates room for a number of series, once, in the master; `threads` includes the master. `bounds` are those of the
 * histograms of times: at most 20 ascending numbers of seconds.
 */
export function createCounterMemory(
  maxSeries: number,
  threads: number,
  bounds: readonly number[] = DEFAULT_BOUNDS,
): CounterMemory {
  const capacity = maxSeries + RESERVE;
  const bytes = 4 * (FIRST_ENTRY_WORD + capacity * ENTRY_WORDS) + capacity * TEXT_BYTES_PER_ENTRY;
  // The length is rounded up, so that the memory can be seen as numbers of 8 bytes.
  const directory = new SharedArrayBuffer(Math.ceil(bytes / 8) * 8);
  const words = new Int32Array(directory, 0, FIRST_ENTRY_WORD);
  words[CAPACITY_WORD] = capacity;
  words[LIMIT_WORD] = maxSeries;
  words[BOUNDS_WORD] = bounds.length;
  new Float64Array(directory, BOUNDS_BYTE, MAX_BOUNDS).set(bounds);
  return withRows({ directory, rows: [], exemplars: [] }, threads);
}

/** Returns the memory with a row for each of `threads` threads. */
export function withRows({ directory, rows, exemplars }: CounterMemory, threads: number): CounterMemory {
  const length = Math.max(0, threads - rows.length);
  const bytes = rowCells(directory) * Float64Array.BYTES_PER_ELEMENT;
  return {
    directory,
    rows: [...rows, ...Array.from({ length }, () => new SharedArrayBuffer(bytes))],
    exemplars: [...exemplars, ...Array.from({ length }, exemplarTable)],
  };
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
    const at = FIRST_ENTRY_WORD + index * ENTRY_WORDS;
    if (Atomics.load(words, at) !== GAUGE) continue;
    const cell = words[at + ENTRY_WORDS - 1] as number;
    cells[cell] = 0;
    cells[cell + PRESENT] = 0;
  }
}

function capacityOf(directory: SharedArrayBuffer): number {
  return new Int32Array(directory, 0, FIRST_ENTRY_WORD)[CAPACITY_WORD] as number;
}

/** Returns the number of cells of each row. */
export function rowCells(directory: SharedArrayBuffer): number {
  return (capacityOf(directory) - RESERVE) * CELLS_PER_ENTRY + RESERVED_CELLS;
}

/** Labels in the order in which they are shown. */
export type Labels = Readonly<Record<string, string>>;

/** The bounds of times without `metrics_buckets`, in seconds: from 100 microseconds to five minutes. */
const DEFAULT_BOUNDS: readonly number[] = [
  0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  120, 300,
];

/** Upper bounds of a histogram's buckets but the last, which has none. Those of times are in the directory. */
const FIXED_SCALES = {
  bytes: [
    64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864, 268_435_456,
  ],
  counts: [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64],
} as const;
export type Scale = 'seconds' | keyof typeof FIXED_SCALES;
const SCALE_NAMES: readonly Scale[] = ['seconds', 'bytes', 'counts'];

/** One series: a metric with one set of labels. */
export interface Series {
  readonly kind: Kind;
  readonly name: string;
  readonly help: string;
  readonly labels: Labels;
  /** Used by histograms. */
  readonly scale: Scale;
}

/** A series and its first cell in every row. */
export interface SeriesEntry extends Series {
  readonly cell: number;
}

/** The names of all series as one thread sees them. Entries are never removed. */
export class CounterDirectory {
  readonly #words: Int32Array;
  readonly #text: Buffer;
  readonly #capacity: number;
  readonly #rowCells: number;
  readonly #lock: ZoneLock;
  readonly #bounds: Readonly<Record<Scale, readonly number[]>>;
  readonly #known = new Map<string, SeriesEntry>();

  constructor(directory: SharedArrayBuffer, threadId: number) {
    this.#capacity = capacityOf(directory);
    this.#rowCells = rowCells(directory);
    const words = FIRST_ENTRY_WORD + this.#capacity * ENTRY_WORDS;
    this.#words = new Int32Array(directory, 0, words);
    this.#text = Buffer.from(directory, words * 4);
    const seconds = [...new Float64Array(directory, BOUNDS_BYTE, this.#words[BOUNDS_WORD])];
    this.#bounds = { ...FIXED_SCALES, seconds };
    setAlive(this.#words, threadId);
    this.#lock = new ZoneLock(this.#words, threadId, () => undefined);
  }

  /** Returns the upper bounds of a scale's buckets but the last. */
  boundsOf(scale: Scale): readonly number[] {
    return this.#bounds[scale];
  }

  /** Returns the number of cells that a series takes in each row. */
  cellsOf({ kind, scale }: Series): number {
    if (kind === 'histogram') return this.#bounds[scale].length + 2;
    return kind === 'gauge' ? PRESENT + 1 : 1;
  }

  /**
   * Returns the first cell of a series, which is added if it is new. Once the limit is reached, returns that of the
   * series `other` instead, or `undefined`.
   */
  cellOf(series: Series): number | undefined {
    const found = this.#find(series);
    if (found !== undefined || !this.#lock.acquire()) return found;
    try {
      const limit = this.#words[LIMIT_WORD] as number;
      return this.#find(series) ?? this.#add(series, limit, RESERVED_CELLS) ?? this.#cellOfOther(series);
    } finally {
      this.#lock.release();
    }
  }

  /** Returns every series that any thread has added. */
  entries(): Iterable<SeriesEntry> {
    this.#readNewEntries();
    return this.#known.values();
  }

  #cellOfOther(series: Series): number | undefined {
    // The sum of different gauges has no meaning.
    if (series.kind === 'gauge') return undefined;
    const labels = Object.fromEntries(Object.keys(series.labels).map((name) => [name, 'other']));
    const other = { ...series, labels };
    return this.#find(other) ?? this.#add(other, this.#capacity, 0);
  }

  #find(series: Series): number | undefined {
    const key = keyOf(series);
    if (!this.#known.has(key)) this.#readNewEntries();
    return this.#known.get(key)?.cell;
  }

  /**
   * Must be called under the lock. The number of entries is increased last, so that no reader sees an unfinished entry.
   * `reservedCells` of a row stay free.
   */
  #add(series: Series, limit: number, reservedCells: number): number | undefined {
    const text = Buffer.from(keyOf(series));
    const index = Atomics.load(this.#words, ENTRIES_WORD);
    const offset = this.#words[TEXT_BYTES_WORD] as number;
    const cell = this.#words[CELLS_WORD] as number;
    const nextCell = cell + this.cellsOf(series);
    if (index >= limit || offset + text.length > this.#text.length) return undefined;
    if (nextCell > this.#rowCells - reservedCells) return undefined;
    this.#text.set(text, offset);
    const facts = [KINDS.indexOf(series.kind), offset, text.length, SCALE_NAMES.indexOf(series.scale), cell];
    this.#words.set(facts, FIRST_ENTRY_WORD + index * ENTRY_WORDS);
    this.#words[TEXT_BYTES_WORD] = offset + text.length;
    this.#words[CELLS_WORD] = nextCell;
    Atomics.store(this.#words, ENTRIES_WORD, index + 1);
    this.#readNewEntries();
    return cell;
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
    const [kind = 0, offset = 0, length = 0, scale = 0, cell = 0] = this.#words.subarray(
      at,
      at + ENTRY_WORDS,
    );
    const text = this.#text.toString('utf8', offset, offset + length);
    const [name, help, labels] = JSON.parse(text) as [string, string, Labels];
    return { cell, kind: KINDS[kind] as Kind, name, help, labels, scale: SCALE_NAMES[scale] as Scale };
  }
}

function keyOf({ name, help, labels }: Series): string {
  return JSON.stringify([name, help, labels]);
}
