/// <reference lib="es2024.sharedmemory" />
import { WAKE_WORD } from './layout.ts';

/** Tells everybody who waits on this zone, in any thread, that there is something new. */
export function announce(words: Int32Array): void {
  Atomics.add(words, WAKE_WORD, 1);
  Atomics.notify(words, WAKE_WORD);
}

/**
 * Calls its listeners in this thread after each announcement in any thread; several in quick succession may
 * come as one call. One sleeping wait serves all listeners. It neither polls nor keeps the thread alive.
 */
export class WakeUp {
  readonly #words: Int32Array;
  readonly #listeners = new Set<() => void>();
  #waiting = false;

  constructor(words: Int32Array) {
    this.#words = words;
  }

  /** Gives the function that ends the listening. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#wait(Atomics.load(this.#words, WAKE_WORD));
    return () => void this.#listeners.delete(listener);
  }

  #wait(seen: number): void {
    if (this.#waiting || this.#listeners.size === 0) return;
    const outcome = Atomics.waitAsync(this.#words, WAKE_WORD, seen);
    this.#waiting = true;
    if (outcome.async) void outcome.value.then(() => this.#wake());
    // Announced since `seen`. Not at once: busy publishers would keep this thread from everything else.
    else setImmediate(() => this.#wake());
  }

  #wake(): void {
    this.#waiting = false;
    const seen = Atomics.load(this.#words, WAKE_WORD);
    for (const listener of this.#listeners) listener();
    this.#wait(seen);
  }
}
