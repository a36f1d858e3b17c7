/// <reference lib="es2024.sharedmemory" />

/** Wakes all threads that wait on this word of shared memory. */
export function announce(words: Int32Array, word: number): void {
  Atomics.add(words, word, 1);
  Atomics.notify(words, word);
}

/**
 * Calls listeners in this thread after announcements in any thread; several in quick succession may cause one call. All
 * listeners share one wait, which neither polls nor keeps the thread alive.
 */
export class WakeUp {
  readonly #words: Int32Array;
  readonly #word: number;
  readonly #listeners = new Set<() => void>();
  #waiting = false;

  constructor(words: Int32Array, word: number) {
    this.#words = words;
    this.#word = word;
  }

  /** Adds a listener. Returns the function that removes it. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#wait(Atomics.load(this.#words, this.#word));
    return () => void this.#listeners.delete(listener);
  }

  #wait(seen: number): void {
    if (this.#waiting || this.#listeners.size === 0) return;
    const outcome = Atomics.waitAsync(this.#words, this.#word, seen);
    this.#waiting = true;
    if (outcome.async) void outcome.value.then(() => this.#wake());
    // There was an announcement since `seen`. The listeners are called in the next turn, since busy publishers would
    // otherwise block this thread.
    else setImmediate(() => this.#wake());
  }

  #wake(): void {
    this.#waiting = false;
    const seen = Atomics.load(this.#words, this.#word);
    for (const listener of this.#listeners) listener();
    this.#wait(seen);
  }
}
