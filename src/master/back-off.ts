/** The delays of a `BackOff`. */
interface BackOffRules {
  /** Delay after the first early end; it doubles each time. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** A run of at least this length resets the delay. */
  readonly steadyMs: number;
}

/** Computes the delay before a repeated restart. */
export class BackOff {
  readonly #rules: BackOffRules;
  #nextMs = 0;

  constructor(rules: BackOffRules) {
    this.#rules = rules;
  }

  /** Returns the delay in milliseconds after a run of `ranMs`. */
  after(ranMs: number): number {
    const { firstMs, maxMs, steadyMs } = this.#rules;
    if (ranMs >= steadyMs) this.#nextMs = 0;
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(Math.max(firstMs, delayMs * 2), maxMs);
    return delayMs;
  }
}
