import type { Quantifier } from './quantifier.ts';

/**
 * What a pattern can do to a worker. `safe`: it cannot backtrack badly. `guarded`: it could, but V8 falls back to its
 * linear engine. `unguarded`: it could, and look-arounds, back-references or large counts keep that engine out.
 */
export type Risk = 'safe' | 'guarded' | 'unguarded';

/** V8's linear engine unrolls counts (`+` is two), nested ones multiplied; beyond this it declines. Measured, Node 20.20. */
const MAX_UNROLLED = 16;

/** Adds up, while a pattern is read, what decides its risk. */
export class Cost {
  #loops = 0;
  #repeatsGroups = false;
  #isLinearOut = false;

  get risk(): Risk {
    if (!this.#repeatsGroups && this.#loops <= 1) return 'safe';
    return this.#isLinearOut ? 'unguarded' : 'guarded';
  }

  /** A look-around or back-reference. */
  keepOutLinearEngine(): void {
    this.#isLinearOut = true;
  }

  /** Counts a quantifier; `unrolled` is what its atom multiplies already. Gives the new factor. */
  repeat({ min, max }: Quantifier, isCharacter: boolean, unrolled: number): number {
    const factor = Math.max(max === Infinity ? min + 1 : max, 1) * unrolled;
    if (factor > MAX_UNROLLED) this.#isLinearOut = true;
    if (max > 1 && !isCharacter) this.#repeatsGroups = true;
    if (max > MAX_UNROLLED && min !== max) this.#loops += 1;
    return factor;
  }
}
