import { type DbrestFault, type ParsedPart, tooLarge, unparsable } from '../fault/index.ts';
import type { Field, JsonStep } from './tree.ts';

/** PostgreSQL cuts longer names short without a word: another column could be meant. */
const LONGEST_IDENTIFIER_BYTES = 63;

// A dash belongs to a name unless it starts `->`.
const PLAIN_NAME = /(?:[\p{L}\p{M}\p{N}_ $]|-(?!>))+/uy;

/** Walks through one decoded piece of a query string; what does not fit becomes PGRST100 at its character. */
export class Scanner {
  readonly part: ParsedPart;
  readonly text: string;
  /** What an error shows of the text. */
  readonly shown: string;
  at = 0;

  constructor(part: ParsedPart, text: string, shown = text) {
    this.part = part;
    this.text = text;
    this.shown = shown;
  }

  get done(): boolean {
    return this.at >= this.text.length;
  }

  sees(word: string): boolean {
    return this.text.startsWith(word, this.at);
  }

  /** Whether a sticky pattern matches here. */
  matches(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    return pattern.test(this.text);
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

  /** Blanks between the parts of a list or a tree mean nothing. */
  skipBlanks(): void {
    while (this.sees(' ')) this.at += 1;
  }

  /** A name, plain (blanks around it do not count) or in double quotes with backslash escapes; no NUL. */
  identifier(expected = FIELD_NAME): string {
    this.skipBlanks();
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

  /** Consumes `word` or throws. */
  expect(word: string, expected = JSON.stringify(word)): void {
    if (!this.take(word)) throw this.unexpected(expected);
  }

  /** Throws unless everything was consumed. */
  end(expected?: string): void {
    if (!this.done) throw this.unexpected(expected === undefined ? END : `${expected} or ${END}`, "'");
  }

  /** Throws when there are more of something than a request may have. */
  refuseOver(count: number, most: number, what: string): void {
    if (count > most) throw tooLarge(`at most ${most} ${what}`);
  }

  /** PGRST100 here. `expected`: `A, B or C`. What follows an end that is none stands in single quotes, as in PostgREST. */
  unexpected(expected: string, quote = '"'): DbrestFault {
    const code = this.text.codePointAt(this.at);
    const character = JSON.stringify(String.fromCodePoint(code ?? 0));
    const found = code === undefined ? END : quote === '"' ? character : `'${character.slice(1, -1)}'`;
    const column = Array.from(this.text.slice(0, this.at)).length + 1;
    return unparsable(this.part, this.shown, { column, report: `unexpected ${found} expecting ${expected}` });
  }
}

const END = 'end of input';
/** PostgREST's words for parts of the grammar: clients compare with them. */
export const FIELD_NAME = 'field name (* or [a..z0..9_$])';
export const DELIMITER = 'delimiter (.)';

const MOST_STEPS = 100;
/** A plain key ends where the grammar goes on; a dash belongs to it unless it starts `->`. */
const PLAIN_KEY = /(?:[^(\-:.,>)"]|-(?!>))+/y;
const INDEX = /-?\d{1,9}(?=->|::|[.,)]|$)/y;

/** `column`, `column->key->>0`, each name plain or quoted. */
export function parseField(scanner: Scanner, expected?: string): Field {
  const column = scanner.identifier(expected);
  const path = parsePath(scanner);
  return path.length === 0 ? { column } : { column, path };
}

/** `->key->>0`, as long as there are arrows. */
export function parsePath(scanner: Scanner): JsonStep[] {
  const path: JsonStep[] = [];
  while (scanner.sees('->')) {
    scanner.refuseOver(path.length + 1, MOST_STEPS, 'steps in a JSON path');
    const arrow = scanner.take('->>') ? '->>' : '->';
    if (arrow === '->') scanner.take('->');
    path.push({ arrow, key: parseKey(scanner) });
  }
  return path;
}

function parseKey(scanner: Scanner): string | number {
  const index = scanner.match(INDEX);
  if (index !== undefined) return Number(index);
  const key = scanner.sees('"') ? scanner.quoted() : scanner.match(PLAIN_KEY)?.trim();
  if (key === undefined) throw scanner.unexpected('any non reserved character different from: .,>()');
  return key;
}
