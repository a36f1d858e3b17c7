import { setAlive, ZoneLock } from '../lock.ts';
import { Seat } from '../seat.ts';
import { BYTES_WORD, copyAt, lengthWord, REVISION_WORD, SAVED_REVISION_WORD, SEAT_WORDS } from './kind.ts';

/** The result of changing a text. */
type TextChange = 'changed' | 'unchanged' | 'too long' | 'busy';

/**
 * A text in shared memory as one thread sees it. By its revision, threads know without reading it that it is unchanged.
 * It has two seats for work that one thread does for all.
 */
export class SharedText {
  readonly #bytes: Buffer;
  readonly #words: Int32Array;
  readonly #lock: ZoneLock;
  readonly #longest: number;
  readonly #threadId: number;

  constructor(buffer: SharedArrayBuffer, threadId: number) {
    this.#bytes = Buffer.from(buffer);
    this.#words = new Int32Array(buffer);
    this.#longest = this.#words[BYTES_WORD] as number;
    this.#threadId = threadId;
    setAlive(this.#words, threadId);
    this.#lock = new ZoneLock(this.#words, threadId, () => undefined);
  }

  /** Number of changes; 0: nothing was ever written. */
  get revision(): number {
    return Atomics.load(this.#words, REVISION_WORD);
  }

  /** The revision that was last saved outside of this memory; 0 if none was. */
  get savedRevision(): number {
    return Atomics.load(this.#words, SAVED_REVISION_WORD);
  }

  set savedRevision(revision: number) {
    Atomics.store(this.#words, SAVED_REVISION_WORD, revision);
  }

  /** Returns one of the seats. Users of the text decide what its holder does. */
  seat(index: 0 | 1): Seat {
    return new Seat(this.#words, { at: SEAT_WORDS[index], threadId: this.#threadId });
  }

  /** Returns the text and its revision; `undefined` if the zone is locked for too long. */
  read(): { readonly revision: number; readonly text: string } | undefined {
    if (!this.#lock.acquire()) return undefined;
    try {
      const { revision } = this;
      return { revision, text: this.#text(revision) };
    } finally {
      this.#lock.release();
    }
  }

  /**
   * Replaces the text by the result of `next`, unless that is `undefined`. No other thread changes it meanwhile. `next`
   * must not take long.
   */
  change(next: (text: string) => string | undefined): TextChange {
    if (!this.#lock.acquire()) return 'busy';
    try {
      const { revision } = this;
      const text = next(this.#text(revision));
      if (text === undefined) return 'unchanged';
      const length = Buffer.byteLength(text);
      if (length > this.#longest) return 'too long';
      this.#bytes.write(text, copyAt(this.#longest, revision + 1));
      this.#words[lengthWord(revision + 1)] = length;
      Atomics.store(this.#words, REVISION_WORD, revision + 1);
      return 'changed';
    } finally {
      this.#lock.release();
    }
  }

  #text(revision: number): string {
    if (revision === 0) return '';
    const at = copyAt(this.#longest, revision);
    return this.#bytes.toString('utf8', at, at + (this.#words[lengthWord(revision)] as number));
  }
}
