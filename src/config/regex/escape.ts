import { noEquivalent } from './fault.ts';
import type { Scanner } from './scanner.ts';

const LAST_CODE_POINT = 0x10ffff;

const CONTROLS: Readonly<Record<string, number>> = { a: 0x07, e: 0x1b, f: 0x0c, n: 0x0a, r: 0x0d, t: 0x09 };

/**
 * The code point of an escape that means one character; the scanner stands behind the backslash. `undefined` when the
 * escape means something else (`\d`, `\b`, `\1`). `\xHH` names a code point, as in PCRE's UTF mode: gw matches decoded
 * text, where nginx without UTF matches bytes.
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

/** Why a letter behind a backslash means nothing. */
export function unknownEscape(scanner: Scanner): Error {
  if (scanner.done) return scanner.fault('\\ at end of pattern');
  if (/[FLUlu]/.test(scanner.next)) {
    return scanner.fault('PCRE2 does not support \\F, \\L, \\l, \\N{name}, \\U, or \\u', scanner.at + 1);
  }
  return scanner.fault('unrecognized character follows \\');
}

/** `\p{…}`: JavaScript has it with the `u` flag only, and that flag would cost the linear engine. */
export function noEquivalentProperty(scanner: Scanner): Error {
  const start = scanner.at - 1;
  const property = scanner.take(/[pP](?:\{[^}]*\}|[A-Z])/y);
  if (!property) return scanner.fault('malformed \\P or \\p sequence', start + 2);
  return noEquivalent(`\\${property[0]}`, start);
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
