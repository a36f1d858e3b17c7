/** The clock of `performance.now()`, read once per turn of the event loop: near enough for time limits. */
export class TickClock {
  #nowMs: number | undefined;

  nowMs(): number {
    if (this.#nowMs === undefined) {
      this.#nowMs = performance.now();
      setImmediate(this.#forget);
    }
    return this.#nowMs;
  }

  readonly #forget = (): void => {
    this.#nowMs = undefined;
  };
}
