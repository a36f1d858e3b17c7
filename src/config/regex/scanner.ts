/** The reason why a pattern cannot be used. It is thrown only inside this folder and returned by `translatePcre`. */
export class PatternFault extends Error {
  /** Index into the pattern. */
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/**
 * The fault of a construct of PCRE without an equivalent in JavaScript. `what` names the use of a construct that is
 * supported elsewhere.
 */
export function noEquivalent(construct: string, offset: number, what = ''): PatternFault {
  const explained = what === '' ? '' : ` (${what})`;
  return new PatternFault(`PCRE construct "${construct}"${explained} has no equivalent here`, offset);
}

/** The flags of `(?imsnxU)`; a group's flags end with the group. */
export interface Flags {
  readonly caseless: boolean;
  readonly multiLine: boolean;
  readonly dotAll: boolean;
  readonly noCapture: boolean;
  /** 2 for `(?xx)`, which ignores blanks inside classes as well. */
  readonly extended: 0 | 1 | 2;
  readonly ungreedy: boolean;
}

export const NO_FLAGS: Flags = {
  caseless: false,
  multiLine: false,
  dotAll: false,
  noCapture: false,
  extended: 0,
  ungreedy: false,
};

/** The flags after the letters between `(?` and `)` or `:`, for example `i-s`, `xx` or `^m`. */
export function withLetters(flags: Flags, letters: string): Flags {
  const [on = '', off = ''] = letters.replace('^', '').split('-');
  const start = letters.startsWith('^') ? { ...NO_FLAGS, ungreedy: flags.ungreedy } : flags;
  return switched(switched(start, on, true), off, false);
}

function switched(flags: Flags, letters: string, on: boolean): Flags {
  const touched = (letter: string, current: boolean) => (letters.includes(letter) ? on : current);
  const extended = !letters.includes('x') ? flags.extended : on ? (letters.includes('xx') ? 2 : 1) : 0;
  return {
    caseless: touched('i', flags.caseless),
    multiLine: touched('m', flags.multiLine),
    dotAll: touched('s', flags.dotAll),
    noCapture: touched('n', flags.noCapture),
    extended,
    ungreedy: touched('U', flags.ungreedy),
  };
}

const MAX_NAME_LENGTH = 32;

/** Reads a pattern from left to right. Offsets are UTF-16 indices. */
export class Scanner {
  readonly pattern: string;
  at = 0;

  constructor(pattern: string) {
    this.pattern = pattern;
  }

  get done(): boolean {
    return this.at >= this.pattern.length;
  }

  get next(): string {
    return this.pattern.charAt(this.at);
  }

  /** Skips `text` if it comes next; true if it did. */
  eat(text: string): boolean {
    if (!this.pattern.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  /** Skips the match of a sticky expression at the current offset and gives it. */
  take(sticky: RegExp): RegExpExecArray | null {
    const match = this.peek(sticky);
    if (match) this.at = sticky.lastIndex;
    return match;
  }

  /** The match of a sticky expression at the current offset. */
  peek(sticky: RegExp): RegExpExecArray | null {
    sticky.lastIndex = this.at;
    return sticky.exec(this.pattern);
  }

  codePoint(): number {
    const codePoint = this.pattern.codePointAt(this.at) as number;
    this.at += codePoint > 0xffff ? 2 : 1;
    return codePoint;
  }

  fault(message: string, offset = this.at): PatternFault {
    return new PatternFault(message, offset);
  }

  /** The fault of a group without equivalent, from `start` to the next `)`. */
  noEquivalentGroup(start: number): PatternFault {
    const end = this.pattern.indexOf(')', start);
    if (end === -1) return this.fault('missing closing parenthesis', this.pattern.length);
    return noEquivalent(this.pattern.slice(start, end + 1), start);
  }

  /** Reads a group's name and its terminator. */
  name(terminator: string): string {
    const start = this.at;
    if (/\d/.test(this.next)) throw this.fault('subpattern name must start with a non-digit');
    const name = this.take(/\w*/y)?.[0] ?? '';
    if (name === '') throw this.fault('subpattern name expected', start);
    if (name.length > MAX_NAME_LENGTH) {
      throw this.fault(`subpattern name is too long (maximum ${MAX_NAME_LENGTH} code units)`);
    }
    if (!this.eat(terminator)) throw this.fault('syntax error in subpattern name (missing terminator?)');
    return name;
  }
}

const LAST_CODE_POINT = 0x10ffff;

const CONTROLS: Readonly<Record<string, number>> = { a: 0x07, e: 0x1b, f: 0x0c, n: 0x0a, r: 0x0d, t: 0x09 };

/**
 * The code point of an escape that denotes one character; the scanner is after the backslash. `undefined` for other
 * escapes (`\d`, `\b`, `\1`). `\xHH` denotes a code point, as in PCRE's UTF mode, because gw matches decoded text;
 * nginx without UTF matches bytes.
 */
export function readCharacterEscape(scanner: Scanner): number | undefined {
  const letter = scanner.next;
  const control = CONTROLS[letter];
  if (control !== undefined) {
    scanner.at += 1;
    return control;
  }
  if (letter === '0') return octal(scanner.take(/[0-7]{1,3}/y)?.[0] as string);
  if (scanner.eat('x')) return hexEscape(scanner);
  if (letter === 'o') return bracedOctal(scanner);
  if (scanner.eat('c')) return controlEscape(scanner);
  return /[0-9A-Za-z]/.test(letter) ? undefined : scanner.codePoint();
}

/** The fault of an unknown escape. */
export function unknownEscape(scanner: Scanner): Error {
  if (scanner.done) return scanner.fault('\\ at end of pattern');
  if (/[FLUlu]/.test(scanner.next)) {
    return scanner.fault('PCRE2 does not support \\F, \\L, \\l, \\N{name}, \\U, or \\u', scanner.at + 1);
  }
  return scanner.fault('unrecognized character follows \\');
}

/** The value of octal digits. */
export const octal = (digits: string): number => Number.parseInt(digits, 8);

function hexEscape(scanner: Scanner): number {
  if (!scanner.eat('{')) return Number.parseInt(`0${scanner.take(/[\da-f]{1,2}/iy)?.[0] ?? ''}`, 16);
  return braced(scanner, { digits: /[\da-f]*/iy, radix: 16, kind: 'hex', letter: 'x' });
}

function bracedOctal(scanner: Scanner): number {
  if (!scanner.eat('o{')) throw scanner.fault('missing opening brace after \\o');
  return braced(scanner, { digits: /[0-7]*/y, radix: 8, kind: 'octal', letter: 'o' });
}

interface Braced {
  readonly digits: RegExp;
  readonly radix: number;
  readonly kind: string;
  readonly letter: string;
}

function braced(scanner: Scanner, { digits, radix, kind, letter }: Braced): number {
  const text = scanner.take(digits)?.[0] ?? '';
  if (text === '' && (scanner.done || scanner.next === '}')) {
    throw scanner.fault('digits missing in \\x{} or \\o{} or \\N{U+}');
  }
  const value = Number.parseInt(text, radix);
  if (value > LAST_CODE_POINT) {
    throw scanner.fault('character code point value in \\x{} or \\o{} is too large');
  }
  if (!scanner.eat('}')) {
    throw scanner.fault(`non-${kind} character in \\${letter}{} (closing brace missing?)`);
  }
  return value;
}

function controlEscape(scanner: Scanner): number {
  if (scanner.done) throw scanner.fault('\\c at end of pattern');
  if (!/[ -~]/.test(scanner.next)) throw scanner.fault('\\c must be followed by a printable ASCII character');
  const letter = String.fromCodePoint(scanner.codePoint());
  return letter.toUpperCase().charCodeAt(0) ^ 0x40;
}
