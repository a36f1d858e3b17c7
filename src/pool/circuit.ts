const OPENS_AFTER = 3;
const FIRST_DELAY_MS = 100;
/** Below 2 s, so that service is back within that time once the peer is. */
const LONGEST_DELAY_MS = 1_500;

/**
 * Remembers that a peer cannot be reached: after three failures in a row it is open, and one prober tries again with
 * growing delays until a success closes it.
 */
export class Circuit {
  /** Of the last failure since the last success. */
  lastError: Error | undefined;
  readonly #probe: () => void;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(probe: () => void) {
    this.#probe = probe;
  }

  get open(): boolean {
    return this.#failures >= OPENS_AFTER;
  }

  failed(error: Error): void {
    this.#failures += 1;
    this.lastError = error;
    if (!this.open || this.#timer) return;
    const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.#failures - OPENS_AFTER));
    this.#timer = setTimeout(this.#fire, delayMs).unref();
  }

  succeeded(): void {
    this.#failures = 0;
    this.lastError = undefined;
    this.stop();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  readonly #fire = (): void => {
    this.#timer = undefined;
    this.#probe();
  };
}
