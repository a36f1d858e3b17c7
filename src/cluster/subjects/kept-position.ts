import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ErrorLog } from '../../log/index.ts';
import { makeDirectorySync, replaceDurably, systemFailure } from '../../system/index.ts';

/** How often the position is written, if it has changed. */
const WRITE_MS = 1_000;
const KEPT = /^(\d{1,15}) (\d{1,15})\n$/;

/** The position up to which a stream was applied. */
export interface StreamPosition {
  readonly counter: number;
  /** The birth of the stream, as the store tells it; 0: it is unknown. */
  readonly birth: number;
}

/** The position in a stream, kept in a file. The next process resumes after it. */
export class KeptPosition {
  readonly #path: string;
  readonly #log: ErrorLog;
  readonly #timer: NodeJS.Timeout;
  #written: string | undefined;
  #wanted: StreamPosition | undefined;
  #hasFailed = false;
  #saving: Promise<void> = Promise.resolve();

  constructor(directory: string, name: string, log: ErrorLog) {
    this.#path = join(directory, name);
    this.#log = log;
    this.#read(directory);
    this.#timer = setInterval(() => void this.save(), WRITE_MS).unref();
  }

  /** The position to be kept; `undefined`: there is no file yet, or it cannot be read, which is logged. */
  get reached(): StreamPosition | undefined {
    return this.#wanted;
  }

  set reached(position: StreamPosition | undefined) {
    this.#wanted = position;
    // Without a file, the next process would not know that it has missed entries.
    if (this.#written === undefined) void this.save();
  }

  /** Writes the position if it has changed. Never rejects; repeated failures are logged once. */
  async save(): Promise<void> {
    // One write at a time: two would use the same temporary file.
    const before = this.#saving;
    this.#saving = (async () => {
      await before;
      await this.#save();
    })();
    return this.#saving;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.save();
  }

  async #save(): Promise<void> {
    const wanted = this.#text;
    if (wanted === undefined || wanted === this.#written) return;
    try {
      await replaceDurably(this.#path, `${this.#path}.new`, wanted);
      this.#written = wanted;
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#log.write('error', systemFailure('write', this.#path, error));
      this.#hasFailed = true;
    }
  }

  get #text(): string | undefined {
    return this.#wanted && `${this.#wanted.counter} ${this.#wanted.birth}\n`;
  }

  #read(directory: string): void {
    try {
      const [, counter, birth] = KEPT.exec(readFileSync(this.#path, 'utf8')) ?? [];
      if (counter === undefined) return;
      this.#wanted = { counter: Number(counter), birth: Number(birth) };
      this.#written = this.#text;
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#log.write('error', systemFailure('open', this.#path, error));
    }
    try {
      makeDirectorySync(directory);
    } catch {
      // The write that follows fails, and is logged.
    }
  }
}
