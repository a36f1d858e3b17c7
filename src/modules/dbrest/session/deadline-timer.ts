/**
 * One timer for the deadlines of many requests: a timer of its own takes a twentieth of the time of a small request. It does
 * not keep the thread alive.
 */
export class DeadlineTimer {
  readonly #due: (nowMs: number) => number;
  #timer: NodeJS.Timeout | undefined;
  #atMs = Infinity;

  /** `due` acts on the deadlines that have passed, and returns the earliest of the others, or Infinity. */
  constructor(due: (nowMs: number) => number) {
    this.#due = due;
  }

  /** Adds a deadline, in terms of `performance.now()`. */
  add(atMs: number, nowMs: number): void {
    if (atMs >= this.#atMs) return;
    clearTimeout(this.#timer);
    this.#atMs = atMs;
    this.#timer = setTimeout(this.#fire, Math.ceil(atMs - nowMs)).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#atMs = Infinity;
  }

  readonly #fire = (): void => {
    this.#atMs = Infinity;
    const nowMs = performance.now();
    this.add(this.#due(nowMs), nowMs);
  };
}
