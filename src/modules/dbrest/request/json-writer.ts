import type { Turn } from './turn.ts';

/** Longer texts are written in several pieces, with turns for all others in between. */
const PIECE_CHARACTERS = 65_536;

/** JSON text while it is put together, in pieces of bytes. */
export class JsonWriter {
  readonly #pieces: Buffer[] = [];
  readonly #turn: Turn;
  #text = '';

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** Text that is JSON already. */
  write(json: string): void {
    this.#text += json;
    if (this.#text.length >= PIECE_CHARACTERS) this.#flush();
  }

  /** A text that may be long, as a JSON string. */
  async writeLong(text: string): Promise<void> {
    this.write('"');
    for (let from = 0; from < text.length; from += PIECE_CHARACTERS) {
      // A pair of surrogates that is cut here becomes two escapes, which are a pair again.
      this.write(JSON.stringify(text.slice(from, from + PIECE_CHARACTERS)).slice(1, -1));
      await this.#turn();
    }
    this.write('"');
  }

  /** All of it. */
  finish(): readonly Buffer[] {
    this.#flush();
    return this.#pieces;
  }

  #flush(): void {
    this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }
}
