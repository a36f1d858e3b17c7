import { CHECK_CELLS, CHECK_WORDS } from './kind.ts';

/*
 * The result of one active check of one peer. Offsets in 32-bit words:
 *   0 digest of the check (0: unused)   1 verdict   2 passes in a row   3 fails in a row   4 f64 end of the last probe
 *   6 status of its response (0: none)   7 its duration (ms)   8 f64 last change of the verdict   10 load
 *   11 all successes   12 all failures
 * Times are in ms since the epoch. Only the holder of the seat writes after the claim.
 */

const VERDICT = 1;
const PASSES = 2;
const FAILS = 3;
const PROBED = 4;
const STATUS = 6;
const SPENT = 7;
const CHANGED = 8;
const LOAD = 10;
const SUCCESSES = 11;
const FAILURES = 12;

/** The verdict of a check on a peer. */
export type Verdict = 'unknown' | 'healthy' | 'unhealthy';

const VERDICTS: readonly Verdict[] = ['unknown', 'healthy', 'unhealthy'];

/** The memory of a peer's cells; `at` is the first word. */
interface CheckMemory {
  readonly words: Int32Array;
  readonly doubles: Float64Array;
  readonly at: number;
}

/** The result of a probe. */
interface ProbeFacts {
  readonly status: number;
  readonly spentMs: number;
  readonly endedMs: number;
}

/** The result of one active check of one peer, shared by all threads. */
export class CheckCell {
  readonly #words: Int32Array;
  readonly #doubles: Float64Array;
  readonly #at: number;

  constructor({ words, doubles, at }: CheckMemory) {
    this.#words = words;
    this.#doubles = doubles;
    this.#at = at;
  }

  get verdict(): Verdict {
    return VERDICTS[Atomics.load(this.#words, this.#at + VERDICT)] ?? 'unknown';
  }

  /** Probes in a row that succeeded. */
  get passes(): number {
    return this.#words[this.#at + PASSES] as number;
  }

  /** Probes in a row that failed. */
  get fails(): number {
    return this.#words[this.#at + FAILS] as number;
  }

  /** End of the last probe; 0 before the first one. */
  get probedMs(): number {
    return this.#doubles[(this.#at + PROBED) >> 1] as number;
  }

  /** Status of the response to the last probe; 0 without a response. */
  get status(): number {
    return this.#words[this.#at + STATUS] as number;
  }

  /** Duration of the last probe. */
  get spentMs(): number {
    return this.#words[this.#at + SPENT] as number;
  }

  /** When the verdict changed; 0: never, or the only verdict so far is good. */
  get changedMs(): number {
    return this.#doubles[(this.#at + CHANGED) >> 1] as number;
  }

  /** Probes that succeeded. */
  get successes(): number {
    return (this.#words[this.#at + SUCCESSES] as number) >>> 0;
  }

  /** Probes that failed. */
  get failures(): number {
    return (this.#words[this.#at + FAILURES] as number) >>> 0;
  }

  /** Number of the load that last claimed the check; 0 if none has. */
  get load(): number {
    return this.#words[this.#at + LOAD] as number;
  }

  set load(load: number) {
    this.#words[this.#at + LOAD] = load;
  }

  /** Counts a probe. */
  count(passed: boolean, { status, spentMs, endedMs }: ProbeFacts): void {
    const most = 2 ** 30;
    Atomics.add(this.#words, this.#at + (passed ? SUCCESSES : FAILURES), 1);
    this.#words[this.#at + PASSES] = passed ? Math.min(most, this.passes + 1) : 0;
    this.#words[this.#at + FAILS] = passed ? 0 : Math.min(most, this.fails + 1);
    this.#words[this.#at + STATUS] = status;
    this.#words[this.#at + SPENT] = Math.round(spentMs);
    this.#doubles[(this.#at + PROBED) >> 1] = endedMs;
  }

  decide(verdict: Verdict, atMs: number): void {
    this.#doubles[(this.#at + CHANGED) >> 1] = atMs;
    Atomics.store(this.#words, this.#at + VERDICT, VERDICTS.indexOf(verdict));
  }

  /** Forgets all results. */
  forget(): void {
    this.#words.fill(0, this.#at + VERDICT, this.#at + CHECK_WORDS);
  }
}

/**
 * Returns the cell of a check among those of a peer; otherwise an unused one, or the one that was not claimed for the
 * longest time.
 */
export function claimCheck({ words, doubles, at }: CheckMemory, digest: number): CheckCell {
  let oldest = at;
  for (let nth = 0; nth < CHECK_CELLS; nth++) {
    const cell = at + nth * CHECK_WORDS;
    if (words[cell] === digest) return new CheckCell({ words, doubles, at: cell });
    if (words[oldest] !== 0 && (words[cell] === 0 || isOlder(words, cell, oldest))) oldest = cell;
  }
  words.fill(0, oldest, oldest + CHECK_WORDS);
  words[oldest] = digest;
  return new CheckCell({ words, doubles, at: oldest });
}

function isOlder(words: Int32Array, cell: number, other: number): boolean {
  return (words[cell + LOAD] as number) < (words[other + LOAD] as number);
}
