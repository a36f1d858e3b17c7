/** The timeout for a silent peer. One timer serves all waits of a connection: to start or end a wait only moves a deadline. */
export class SilenceTimer {
  readonly #broken: () => void;
  #deadlineMs = Infinity;
  #timer: NodeJS.Timeout | undefined = undefined;
  #firesAtMs = Infinity;

  /** `broken` is called when the peer was silent for too long. */
  constructor(broken: () => void) {
    this.#broken = broken;
  }

  /** Starts a wait of this many milliseconds; ends the previous one. */
  expect(ms: number): void {
    this.#deadlineMs = performance.now() + ms;
    if (this.#deadlineMs < this.#firesAtMs) this.#arm(ms);
  }

  /** Ends the wait. */
  rest(): void {
    this.#deadlineMs = Infinity;
  }

  /** Stops the timer for good. */
  stop(): void {
    this.#deadlineMs = this.#firesAtMs = Infinity;
    clearTimeout(this.#timer);
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer);
    this.#firesAtMs = performance.now() + ms;
    this.#timer = setTimeout(this.#fire, ms);
  }

  readonly #fire = (): void => {
    this.#firesAtMs = Infinity;
    if (this.#deadlineMs === Infinity) return;
    const leftMs = this.#deadlineMs - performance.now();
    if (leftMs > 0) return this.#arm(Math.ceil(leftMs));
    this.#deadlineMs = Infinity;
    this.#broken();
  };
}
