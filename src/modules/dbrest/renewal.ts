/** How soon another renewal may follow one that has not helped: what has other causes must not replace the sessions all the time. */
const PAUSE_MS = 1_000;

/** Replaces all sessions of a database. Functions in PL/pgSQL keep the types of their variables for as long as a session lasts. */
export class Renewal {
  readonly #replaceAll: () => void;
  #atMs = -Infinity;
  #hasHelped = true;

  constructor(replaceAll: () => void) {
    this.#replaceAll = replaceAll;
  }

  /** Types have been replaced. */
  run(): void {
    this.#atMs = performance.now();
    this.#hasHelped = true;
    this.#replaceAll();
  }

  /** A session that was opened since the last renewal has met a type that is gone. */
  tryAgain(): void {
    if (!this.#hasHelped && performance.now() - this.#atMs <= PAUSE_MS) return;
    this.run();
    this.#hasHelped = false;
  }

  /** What had failed for a type that is gone has succeeded since. */
  helped(): void {
    this.#hasHelped = true;
  }
}
