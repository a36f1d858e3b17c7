import type { Level } from './error-log.ts';

/** Is told a line that an error log takes: its message with the facts of the request, without time and level. */
export type LogListener = (level: Level, text: string) => void;

/** Those who hear what the error logs of a thread take. */
export class LogListeners {
  readonly #listeners = new Set<LogListener>();

  /** Gives the end of it. */
  add(listener: LogListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(level: Level, text: string): void {
    for (const listener of this.#listeners) listener(level, text);
  }
}
