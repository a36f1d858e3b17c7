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

import { ALIVE_WORD, ALIVE_WORDS } from '../layout.ts';
import { ZoneLock, clearAlive } from '../lock.ts';

export const ENTRIES_WORD = 0;
export const TEXT_BYTES_WORD = 1;
export const CAPACITY_WORD = 2;
export const LIMIT_WORD = 3;
export const FIRST_ENTRY_WORD = ALIVE_WORD + ALIVE_WORDS;
export const ENTRY_WORDS = 4;
export const CELLS = 16;
export const PRESENT = 1;

/** Beyond the limit: series that take what the limit refuses, one per metric. */
const RESERVE = 64;
/** A name with its help and labels takes about 200; longer ones live on what the others leave. */
const TEXT_BYTES_PER_ENTRY = 384;

/** What a series is; in the directory, its place in this list. */
export const KINDS = ['counter', 'gauge', 'histogram', 'untyped'] as const;
export type Kind = (typeof KINDS)[number];
export const GAUGE = KINDS.indexOf('gauge');

/** Shared by every thread of the process: workers come to know new rows with the next configuration. */
export interface CounterMemory {
  readonly directory: SharedArrayBuffer;
  /** By thread id: the master's at 0, then those of the workers. */
  readonly rows: readonly SharedArrayBuffer[];
}

/** Allocates room for so many series, once, in the master; `threads` counts the master in. */
export function createCounterMemory(maxSeries: number, threads: number): CounterMemory {
  const capacity = maxSeries + RESERVE;
  const bytes = 4 * (FIRST_ENTRY_WORD + capacity * ENTRY_WORDS) + capacity * TEXT_BYTES_PER_ENTRY;
  const directory = new SharedArrayBuffer(bytes);
  const words = new Int32Array(directory, 0, FIRST_ENTRY_WORD);
  words[CAPACITY_WORD] = capacity;
  words[LIMIT_WORD] = maxSeries;
  return withRows({ directory, rows: [] }, threads);
}

/** The same memory with a row for each of so many threads. */
export function withRows({ directory, rows }: CounterMemory, threads: number): CounterMemory {
  const missing = Math.max(0, threads - rows.length);
  const added = Array.from({ length: missing }, () => new SharedArrayBuffer(rowBytes(directory)));
  return { directory, rows: [...rows, ...added] };
}

/**
 * For the master, when a thread has exited and before another gets its id: what it counted stays, what it measured of itself
 * does not, and a lock that it held is free.
 */
export function leaveCounters({ directory, rows }: CounterMemory, threadId: number): void {
  const row = rows[threadId];
  if (!row) return;
  const words = new Int32Array(directory, 0, FIRST_ENTRY_WORD + capacityOf(directory) * ENTRY_WORDS);
  clearAlive(words, threadId);
  // What a dying thread has begun to write lies behind the number of entries: there is nothing to repair.
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
