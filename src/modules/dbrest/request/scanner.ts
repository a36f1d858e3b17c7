import type { DbrestFault, ParsedPart } from '../fault/index.ts';
import { tooLarge, unparsable } from '../fault/index.ts';

/** PostgreSQL cuts longer names short without a word: another column could be meant. */
const LONGEST_IDENTIFIER_BYTES = 63;

// A dash belongs to a name unless it starts `->`.
const PLAIN_NAME = /(?:[\p{L}\p{M}\p{N}_ $]|-(?!>))+/uy;

/** Walks through one decoded piece of a query string; what does not fit becomes PGRST100 at its character. */
export class Scanner {
  readonly part: ParsedPart;
  readonly text: string;
  at = 0;

  constructor(part: ParsedPart, text: string) {
    this.part = part;
    this.text = text;
  }

  get done(): boolean {
    return this.at >= this.text.length;
  }

  sees(word: string): boolean {
    return this.text.startsWith(word, this.at);
  }

  /** Consumes `word` when it comes next. */
  take(word: string): boolean {
    if (!this.sees(word)) return false;
    this.at += word.length;
    return true;
  }

  /** Consumes what a sticky pattern matches here, or `undefined`. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }

  /** A name, plain (blanks around it do not count) or in double quotes with backslash escapes; no NUL. */
  identifier(expected = 'field name'): string {
    const start = this.at;
    const name = this.sees('"') ? this.quoted() : this.match(PLAIN_NAME)?.trim();
    if (!name || name.includes('\0')) {
      this.at = start;
      throw this.unexpected(expected);
    }
    if (Buffer.byteLength(name) > LONGEST_IDENTIFIER_BYTES) {
      throw tooLarge(`a name has at most ${LONGEST_IDENTIFIER_BYTES} bytes`);
    }
    return name;
  }

  /** The content of a double-quoted text; stands on its opening quote. */
  quoted(): string {
    this.at += 1;
    let value = '';
    while (!this.done && !this.sees('"')) {
      if (this.sees('\\') && this.at + 1 < this.text.length) this.at += 1;
      value += this.text[this.at];
      this.at += 1;
    }
    if (!this.take('"')) throw this.unexpected('"\\""');
    return value;
  }

  /** Throws unless everything was consumed. */
  end(expected: string): void {
    if (!this.done) throw this.unexpected(`${expected} or end of input`);
  }

  /** PGRST100 here. `expected`: `A, B or C`. */
  unexpected(expected: string): DbrestFault {
    const character = this.text.codePointAt(this.at);
    const found = character === undefined ? 'end of input' : JSON.stringify(String.fromCodePoint(character));
    const column = Array.from(this.text.slice(0, this.at)).length + 1;
    return unparsable(this.part, this.text, { column, report: `unexpected ${found} expecting ${expected}` });
  }
}
