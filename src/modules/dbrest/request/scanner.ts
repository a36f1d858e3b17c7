import { type DbrestFault, type ParsedPart, tooLarge, unparsable } from '../fault/index.ts';
import type { Field, JsonStep } from './tree.ts';

/** PostgreSQL silently truncates longer names, which could then mean another column. */
const LONGEST_IDENTIFIER_BYTES = 63;

// A dash is part of a name unless it begins `->`.
const PLAIN_NAME = /(?:[\p{L}\p{M}\p{N}_ $]|-(?!>))+/uy;

/** A cursor over a decoded piece of a query string. Syntax errors become PGRST100 at the current character. */
export class Scanner {
  readonly part: ParsedPart;
  readonly text: string;
  /** The text as errors show it. */
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

  /** Returns whether a sticky pattern matches at the current position. */
  matches(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    return pattern.test(this.text);
  }

  /** Consumes `word` if it comes next. */
  take(word: string): boolean {
    if (!this.sees(word)) return false;
    this.at += word.length;
    return true;
  }

  /** Consumes and returns the match of a sticky pattern at the current position, or `undefined`. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }

  /** Skips blanks, which are insignificant between the parts of a list or tree. */
  skipBlanks(): void {
    while (this.sees(' ')) this.at += 1;
  }

  /** Consumes a name: plain, with surrounding blanks removed, or in double quotes with backslash escapes. */
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

  /** Consumes a double-quoted text from its opening quote and returns its content. */
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

  /** Consumes `word`, or throws. */
  expect(word: string, expected = JSON.stringify(word)): void {
    if (!this.take(word)) throw this.unexpected(expected);
  }

  /** Throws unless the end of the text is reached. */
  end(expected?: string): void {
    if (!this.done) throw this.unexpected(expected === undefined ? END : `${expected} or ${END}`, "'");
  }

  /** Skips parentheses that close nothing, which PostgREST ignores too. */
  skipClosing(): void {
    this.match(CLOSING);
  }

  /** Throws when a limit of the grammar is exceeded. */
  refuseOver(count: number, most: number, what: string): void {
    if (count > most) throw tooLarge(`at most ${most} ${what}`);
  }

  /**
   * PGRST100 at the current character. `expected` reads `A, B or C`. Trailing text is reported in single quotes, as in
   * PostgREST.
   */
  unexpected(expected: string, quote = '"'): DbrestFault {
    const code = this.text.codePointAt(this.at);
    const character = JSON.stringify(String.fromCodePoint(code ?? 0));
    const found = code === undefined ? END : quote === '"' ? character : `'${character.slice(1, -1)}'`;
    const column = Array.from(this.text.slice(0, this.at)).length + 1;
    return unparsable(this.part, this.shown, { column, report: `unexpected ${found} expecting ${expected}` });
  }
}

const CLOSING = /[) ]*$/y;
const END = 'end of input';
/** PostgREST's names for parts of the grammar; clients compare them. */
export const FIELD_NAME = 'field name (* or [a..z0..9_$])';
export const DELIMITER = 'delimiter (.)';

const MOST_STEPS = 100;
/** A key of a JSON path that does not begin with a quote. A single dash in it is part of it unless it begins `->`. */
const PLAIN_KEY = /[^(\-:.,>)"][^(\-:.,>)]*(?:-(?!>)[^(\-:.,>)]+)*/y;
const INDEX = /-?\d{1,9}(?=->|::|[.,)]|$)/y;
/** A dash that begins no index. */
const NEGATIVE = /-(?!>)\d*/y;

/** Parses `column` or `column->key->>0`; names may be quoted. */
export function parseField(scanner: Scanner, expected?: string): Field {
  const column = scanner.identifier(expected);
  const path = parsePath(scanner);
  return path.length === 0 ? { column } : { column, path };
}

/** Parses a JSON path such as `->key->>0`; it may be empty. */
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

/** A key names an output, and PostgreSQL accepts neither an empty name nor NUL. */
function parseKey(scanner: Scanner): string | number {
  const index = scanner.match(INDEX);
  if (index !== undefined) return Number(index);
  if (scanner.match(NEGATIVE) !== undefined) throw scanner.unexpected('digit');
  const start = scanner.at;
  const key = scanner.sees('"') ? scanner.quoted() : scanner.match(PLAIN_KEY)?.trim();
  if (!key || key.includes('\0')) {
    scanner.at = start;
    throw scanner.unexpected('any non reserved character different from: .,>()');
  }
  return key;
}
