/** How long to wait, and when to forget. */
export interface BackOffRules {
  /** After the first end that came too soon; doubles from then on. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** What ran this long starts again at once when it ends. */
  readonly steadyMs: number;
}

/** The pause before something that keeps ending is started again. */
export class BackOff {
  readonly #rules: BackOffRules;
  #nextMs = 0;

  constructor(rules: BackOffRules) {
    this.#rules = rules;
  }

  /** Milliseconds to wait, after a run of `ranMs`. */
  after(ranMs: number): number {
    const { firstMs, maxMs, steadyMs } = this.#rules;
    if (ranMs >= steadyMs) this.#nextMs = 0;
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(Math.max(firstMs, delayMs * 2), maxMs);
    return delayMs;
  }
}
