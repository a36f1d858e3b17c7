import type { ErrorLog } from './error-log.ts';

/** What the lines about an outage say; `undefined`: there is no such line. */
interface OutageLines {
  /** The beginning of each line: the name of the module. */
  readonly prefix: string;
  /** Names the requests that have failed, for example `requests for "db"`. */
  readonly requests: string;
  readonly begun?: ((reason: string) => string) | undefined;
  readonly over?: string | undefined;
}

interface OutageParts {
  readonly log: ErrorLog;
  readonly lines: OutageLines;
  /** The state that workers share (`OUTAGE_BYTES`): each line is then written once for all of them. Default: none. */
  readonly shared?: Int32Array | undefined;
  /** A worker that restarts after a crash has the same number. */
  readonly workerId?: number;
}

/** A bit for each worker that notices the outage, and the number of requests that it has failed. */
const CELLS = 2;
const NOTICED = 0;
const FAILED = 1;
export const OUTAGE_BYTES = CELLS * Int32Array.BYTES_PER_ELEMENT;
const BITS = 31;

/** When lines tell how many requests have failed, from the beginning of the outage; then each minute. */
const FIRST_MS = 1_000;
const SECOND_MS = 10_000;
const LATER_MS = 60_000;

/**
 * An outage of something that requests need: one line when it begins, with the reason; the number of requests that have failed
 * after a second, ten seconds and each minute, if it grows; one line when it is over. The lines of the requests themselves
 * are for the level `info`.
 */
export class Outage {
  readonly #log: ErrorLog;
  readonly #lines: OutageLines;
  readonly #cells: Int32Array;
  /** That of this worker. */
  readonly #bit: number;
  /** The number that was told last. */
  #told = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ log, lines, shared = new Int32Array(CELLS), workerId = 0 }: OutageParts) {
    this.#log = log;
    this.#lines = lines;
    this.#cells = shared;
    this.#bit = 1 << (workerId % BITS);
    Atomics.and(shared, NOTICED, ~this.#bit);
  }

  /** Some worker has noticed the outage, and none that did has seen the end. */
  get isUnderWay(): boolean {
    return Atomics.load(this.#cells, NOTICED) !== 0;
  }

  begin(reason: string): void {
    if (Atomics.or(this.#cells, NOTICED, this.#bit) !== 0) return;
    Atomics.store(this.#cells, FAILED, 0);
    this.#told = 0;
    const { begun } = this.#lines;
    if (begun) this.#write('error', begun(reason));
    this.#await(FIRST_MS);
  }

  /** Counts a request that fails because of the outage. */
  failed(): void {
    Atomics.add(this.#cells, FAILED, 1);
  }

  /** Records that this worker has seen the end. The last worker to see it writes the line. */
  end(): void {
    this.close();
    if (Atomics.and(this.#cells, NOTICED, ~this.#bit) !== this.#bit) return;
    const failed = Atomics.load(this.#cells, FAILED);
    const { over, requests } = this.#lines;
    const lines = [
      ...(over === undefined ? [] : [over]),
      ...(failed > 0 ? [`${failed} ${requests} failed`] : []),
    ];
    if (lines.length > 0) this.#write('notice', lines.join('; '));
  }

  /** Stops the lines about requests that fail. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #await(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#tell();
      this.#await(ms === FIRST_MS ? SECOND_MS - FIRST_MS : LATER_MS);
    }, ms).unref();
  }

  #tell(): void {
    const failed = Atomics.load(this.#cells, FAILED);
    if (failed === this.#told) return;
    this.#told = failed;
    this.#write('error', `${failed} ${this.#lines.requests} have failed so far`);
  }

  #write(level: 'error' | 'notice', text: string): void {
    this.#log.write(level, `${this.#lines.prefix}: ${text}`);
  }
}
