/** The parts of a request, in their order; names as in PostgREST's `Server-Timing`. */
export type Phase = 'jwt' | 'parse' | 'plan' | 'transaction';

/** How long the parts of one request took. */
export class Stopwatch {
  #last = performance.now();
  #parts: string[] = [];

  /** A part ends here. */
  lap(phase: Phase): void {
    const now = performance.now();
    this.#parts.push(`${phase};dur=${(now - this.#last).toFixed(1)}`);
    this.#last = now;
  }

  /** The value of `Server-Timing`. */
  toString(): string {
    return this.#parts.join(', ');
  }
}
