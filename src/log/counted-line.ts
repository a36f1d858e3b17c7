const INTERVAL_MS = 1_000;

/**
 * Counts what may happen often, so that the log tells of it at most once a second: the caller tells the first time,
 * `tell` how often it has happened since.
 */
export class CountedLine {
  readonly #tell: (count: number) => void;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(tell: (count: number) => void) {
    this.#tell = tell;
  }

  /** Returns true if nothing was told in the last second: the caller tells then. Otherwise it is counted. */
  add(count = 1): boolean {
    if (this.#timer) {
      this.#count += count;
      return false;
    }
    this.#await();
    return true;
  }

  /** Tells what has been counted. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const count = this.#count;
    this.#count = 0;
    if (count > 0) this.#tell(count);
  }

  #await(): void {
    this.#timer = setTimeout(() => {
      const hasMore = this.#count > 0;
      this.close();
      if (hasMore) this.#await();
    }, INTERVAL_MS).unref();
  }
}
