import { character, fixed, literal, type Atom, type Reading } from './atom.ts';
import { classSource } from './code-points.ts';
import { noEquivalentProperty, octal, readCharacterEscape, unknownEscape } from './escape.ts';
import { noEquivalent } from './fault.ts';
import { SHORTHAND_SETS, verticalSpace } from './named-sets.ts';
import { backReference } from './reference.ts';

const NOT_A_LINE_END = '[^\\n]';

/** What an escape outside a class means; the scanner stands behind the backslash. */
export function readEscapedAtom(reading: Reading): Atom {
  const { scanner, flags } = reading;
  if (scanner.done) throw unknownEscape(scanner);
  const codePoint = readCharacterEscape(scanner);
  if (codePoint !== undefined) return literal(codePoint, flags.caseless);
  if (/\d/.test(scanner.next)) return numberEscape(reading);
  const letter = scanner.next;
  const set = SHORTHAND_SETS[letter];
  if (set) {
    scanner.at += 1;
    return character(/[dw]/i.test(letter) ? `\\${letter}` : classSource(set, false));
  }
  return letterEscape(reading, letter);
}

function letterEscape(reading: Reading, letter: string): Atom {
  const { scanner } = reading;
  const start = scanner.at - 1;
  if (/[pP]/.test(letter)) throw noEquivalentProperty(scanner);
  if (!/[bBAzZKRNGXCgk]/.test(letter)) throw unknownEscape(scanner);
  scanner.at += 1;
  if (letter === 'b' || letter === 'B') return fixed(`\\${letter}`);
  if (letter === 'A') return fixed('^');
  if (letter === 'z') return fixed('$');
  if (letter === 'K') return matchStart(reading);
  if (letter === 'N') return notLineEnd(reading);
  if (letter === 'g') return numberedOrNamed(reading, start);
  if (letter === 'k') return named(reading, start);
  if (/[GXC]/.test(letter)) throw noEquivalent(`\\${letter}`, start);
  // CR LF counts as one line end and is never split (PCRE's \R is atomic).
  return letter === 'R'
    ? character(`(?:\\r\\n|(?!\\r\\n)${classSource(verticalSpace, false)})`)
    : fixed('(?=\\n?$)');
}

/** `\K` moves the reported start of the match; nothing in a configuration reads that. */
function matchStart({ scanner, lookarounds }: Reading): Atom {
  if (lookarounds > 0) {
    throw scanner.fault('\\K is not allowed in lookarounds (but see PCRE2_EXTRA_ALLOW_LOOKAROUND_BSK)');
  }
  return fixed('');
}

function notLineEnd({ scanner }: Reading): Atom {
  if (scanner.take(/\{(?!\d+(?:,\d*)?\})/y)) {
    throw scanner.fault('PCRE2 does not support \\F, \\L, \\l, \\N{name}, \\U, or \\u', scanner.at - 1);
  }
  return character(NOT_A_LINE_END);
}

/** `\1`: a back-reference, or octal when it has more digits than there are groups. */
function numberEscape(reading: Reading): Atom {
  const { scanner, groups, flags } = reading;
  const start = scanner.at - 1;
  const [digits] = scanner.take(/\d+/y) as RegExpExecArray;
  const target = Number(digits);
  if (target < 10 || /^[89]/.test(digits) || target <= groups.count) {
    return backReference(reading, { target, start, missingAt: scanner.at - 1 });
  }
  const [octalDigits] = /^[0-7]{1,3}/.exec(digits) as RegExpExecArray;
  scanner.at = start + 1 + octalDigits.length;
  return literal(octal(octalDigits), flags.caseless);
}

/** `\g1`, `\g{1}`, `\g{-1}`, `\g{name}`; `\g<…>` and `\g'…'` are subroutine calls. */
function numberedOrNamed(reading: Reading, start: number): Atom {
  const { scanner, groups } = reading;
  const call = scanner.take(/<[^>]*>|'[^']*'/y);
  if (call) throw noEquivalent(`\\g${call[0]}`, start);
  const number = scanner.take(/\{([+-]?)(\d+)\}|([+-]?)(\d+)/y);
  if (number) {
    const sign = number[1] ?? number[3];
    const value = Number(number[2] ?? number[4]);
    // Counted from the last group that was opened: -1 is that group, +1 the next one.
    const target = sign === '-' ? groups.count + 1 - value : sign === '+' ? groups.count + value : value;
    return backReference(reading, { target, start, missingAt: sign === '-' ? start + 2 : scanner.at - 1 });
  }
  if (scanner.eat('{')) return byName(reading, start, '}');
  throw scanner.fault(
    '\\g is not followed by a braced, angle-bracketed, or quoted name/number or by a plain number',
  );
}

function named(reading: Reading, start: number): Atom {
  const { scanner } = reading;
  const opening = scanner.take(/[{<']/y)?.[0];
  if (opening === undefined) {
    throw scanner.fault('\\k is not followed by a braced, angle-bracketed, or quoted name');
  }
  return byName(reading, start, { '{': '}', '<': '>', "'": "'" }[opening] as string);
}

function byName(reading: Reading, start: number, terminator: string): Atom {
  const missingAt = reading.scanner.at;
  const target = reading.scanner.name(terminator);
  return backReference(reading, { target, start, missingAt });
}
