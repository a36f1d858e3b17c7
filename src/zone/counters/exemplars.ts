/*
 * The latest sampled trace of each bucket of histograms, in shared memory. A thread writes its own table only, so writing needs
 * no lock; a reader takes the latest of all threads.
 *
 *   table   slots of 48 bytes: a bucket has the one that its cell hashes to, or one of the next
 *   slot    0 i32 sequence: 0 empty, odd while it is written   4 i32 cell of the bucket in a row
 *           8 f64 value   16 f64 time in ms since the epoch   24 trace id, 16 bytes   40 span id, 8 bytes
 */

const SLOTS = 2_048;
const SLOT_WORDS = 12;
const SLOT_NUMBERS = SLOT_WORDS / 2;
const CELL_WORD = 1;
const VALUE_NUMBER = 1;
const TIME_NUMBER = 2;
const TRACE_WORD = 6;
const TRACE_WORDS = 4;
const SPAN_WORD = 10;
const SPAN_WORDS = 2;
/** Digits of a word. */
const WORD_DIGITS = 8;
/** How many slots a bucket may be in. If other buckets have all of them, the oldest exemplar is replaced. */
const CHOICES = 8;
/** How often a reader tries to read a slot that is being written. */
const MOST_READS = 3;

/** A table takes its memory when exemplars are written: 96 KB at most. */
export function exemplarTable(): SharedArrayBuffer {
  return new SharedArrayBuffer(SLOTS * SLOT_WORDS * Int32Array.BYTES_PER_ELEMENT);
}

/** The trace of an observed request. Ids are hexadecimal digits. */
export interface ObservedTrace {
  readonly traceId: string;
  readonly spanId: string;
  /** A trace that is not sampled cannot be looked up. */
  readonly sampled: boolean;
}

/** An observed value and the trace that it belongs to. */
export interface Exemplar extends Pick<ObservedTrace, 'traceId' | 'spanId'> {
  readonly value: number;
  /** Milliseconds since the epoch. */
  readonly timeMs: number;
}

/** The table of one thread. Only this thread may write it. */
export class Exemplars {
  readonly #words: Int32Array;
  readonly #numbers: Float64Array;

  constructor(table: SharedArrayBuffer) {
    this.#words = new Int32Array(table);
    this.#numbers = new Float64Array(table);
  }

  keep(cell: number, value: number, { traceId, spanId }: ObservedTrace): void {
    const slot = this.#slotFor(cell);
    const at = slot * SLOT_WORDS;
    // A thread that died while it wrote has left an odd number.
    const odd = Atomics.load(this.#words, at) | 1;
    Atomics.store(this.#words, at, odd);
    this.#words[at + CELL_WORD] = cell;
    this.#numbers[slot * SLOT_NUMBERS + VALUE_NUMBER] = value;
    this.#numbers[slot * SLOT_NUMBERS + TIME_NUMBER] = Date.now();
    this.#writeId(at + TRACE_WORD, TRACE_WORDS, traceId);
    this.#writeId(at + SPAN_WORD, SPAN_WORDS, spanId);
    // Never 0 again: a number of 32 bits wraps around.
    Atomics.store(this.#words, at, (odd + 1) | 0 || 2);
  }

  /** Adds the exemplars by cell; the later one of a cell counts. */
  collect(into: Map<number, Exemplar>): void {
    for (let slot = 0; slot < SLOTS; slot++) {
      if (this.#words[slot * SLOT_WORDS] === 0) continue;
      const read = this.#read(slot);
      if (!read) continue;
      const known = into.get(read.cell);
      if (!known || known.timeMs <= read.timeMs) into.set(read.cell, read);
    }
  }

  #slotFor(cell: number): number {
    const first = (Math.imul(cell, 0x9e_37_79_b1) >>> 0) % SLOTS;
    let oldest = first;
    let oldestMs = Infinity;
    for (let nth = 0; nth < CHOICES; nth++) {
      const slot = (first + nth) % SLOTS;
      const at = slot * SLOT_WORDS;
      if (this.#words[at] === 0 || this.#words[at + CELL_WORD] === cell) return slot;
      const timeMs = this.#numbers[slot * SLOT_NUMBERS + TIME_NUMBER] as number;
      if (timeMs < oldestMs) [oldest, oldestMs] = [slot, timeMs];
    }
    return oldest;
  }

  #read(slot: number): (Exemplar & { readonly cell: number }) | undefined {
    const at = slot * SLOT_WORDS;
    for (let nth = 0; nth < MOST_READS; nth++) {
      const before = Atomics.load(this.#words, at);
      const read = {
        cell: this.#words[at + CELL_WORD] as number,
        value: this.#numbers[slot * SLOT_NUMBERS + VALUE_NUMBER] as number,
        timeMs: this.#numbers[slot * SLOT_NUMBERS + TIME_NUMBER] as number,
        traceId: this.#readId(at + TRACE_WORD, TRACE_WORDS),
        spanId: this.#readId(at + SPAN_WORD, SPAN_WORDS),
      };
      if ((before & 1) === 0 && Atomics.load(this.#words, at) === before) return read;
    }
    return undefined;
  }

  #writeId(at: number, words: number, digits: string): void {
    for (let nth = 0; nth < words; nth++)
      this.#words[at + nth] = Number.parseInt(digits.slice(nth * WORD_DIGITS, (nth + 1) * WORD_DIGITS), 16);
  }

  #readId(at: number, words: number): string {
    let digits = '';
    for (let nth = 0; nth < words; nth++)
      digits += ((this.#words[at + nth] as number) >>> 0).toString(16).padStart(WORD_DIGITS, '0');
    return digits;
  }
}
