import { setAlive, ZoneLock } from '../lock.ts';
import { Seat } from '../seat.ts';
import {
  COPY_BYTES_WORD,
  copyAt,
  JOURNAL_SEAT_WORD,
  JOURNALED_WORD,
  lengthWord,
  REVISION_WORD,
  SOURCE_SEAT_WORD,
} from './kind.ts';

/** What a change of a text came to. */
type TextChange = 'changed' | 'unchanged' | 'too long' | 'busy';

/** The text of a membership zone as one thread sees it. Every thread sees a change at its next request. */
export class MembershipText {
  readonly #bytes: Buffer;
  readonly #words: Int32Array;
  readonly #lock: ZoneLock;
  readonly #copyBytes: number;
  readonly #threadId: number;

  constructor(buffer: SharedArrayBuffer, threadId: number) {
    this.#bytes = Buffer.from(buffer);
    this.#words = new Int32Array(buffer);
    this.#copyBytes = this.#words[COPY_BYTES_WORD] as number;
    this.#threadId = threadId;
    setAlive(this.#words, threadId);
    this.#lock = new ZoneLock(this.#words, threadId, () => undefined);
  }

  /** Number of changes; 0: nothing was ever written. */
  get revision(): number {
    return Atomics.load(this.#words, REVISION_WORD);
  }

  /** The revision that the journal holds. */
  get journaled(): number {
    return Atomics.load(this.#words, JOURNALED_WORD);
  }

  set journaled(revision: number) {
    Atomics.store(this.#words, JOURNALED_WORD, revision);
  }

  get journalSeat(): Seat {
    return new Seat(this.#words, { at: JOURNAL_SEAT_WORD, threadId: this.#threadId });
  }

  get sourceSeat(): Seat {
    return new Seat(this.#words, { at: SOURCE_SEAT_WORD, threadId: this.#threadId });
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
   * Replaces the text by what `next` makes of it; `undefined`: it stays. Nobody else changes it meanwhile. `next` must not
   * take long.
   */
  change(next: (text: string) => string | undefined): TextChange {
    if (!this.#lock.acquire()) return 'busy';
    try {
      const { revision } = this;
      const text = next(this.#text(revision));
      if (text === undefined) return 'unchanged';
      const length = Buffer.byteLength(text);
      if (length > this.#copyBytes) return 'too long';
      this.#bytes.write(text, copyAt(this.#copyBytes, revision + 1));
      this.#words[lengthWord(revision + 1)] = length;
      Atomics.store(this.#words, REVISION_WORD, revision + 1);
      return 'changed';
    } finally {
      this.#lock.release();
    }
  }

  #text(revision: number): string {
    if (revision === 0) return '';
    const at = copyAt(this.#copyBytes, revision);
    return this.#bytes.toString('utf8', at, at + (this.#words[lengthWord(revision)] as number));
  }
}
