import { classSource, SHORTHAND_SETS, verticalSpace } from './character-class.ts';
import { withBothCases } from './code-points.ts';
import { readProperty } from './properties.ts';
import {
  type Flags,
  noEquivalent,
  octal,
  readCharacterEscape,
  type Scanner,
  unknownEscape,
} from './scanner.ts';

/** The capture groups that the translation has met, in PCRE's numbering, which is also JavaScript's. */
export class Groups {
  readonly names: string[] = [];
  readonly #numberOf = new Map<string, number>();
  /** By number, from 1: true if every path through the pattern so far sets the group. */
  readonly #isSet: boolean[] = [false];

  get count(): number {
    return this.#isSet.length - 1;
  }

  has(name: string): boolean {
    return this.#numberOf.has(name);
  }

  numberOf(name: string): number | undefined {
    return this.#numberOf.get(name);
  }

  open(name?: string): number {
    const number = this.#isSet.push(false) - 1;
    if (name !== undefined) {
      this.names.push(name);
      this.#numberOf.set(name, number);
    }
    return number;
  }

  close(number: number): void {
    this.#isSet[number] = true;
  }

  /** Marks the groups above `number` as optional: they are in an alternative, optional item or negative assertion. */
  mayBeUnsetAbove(number: number): void {
    this.#isSet.fill(false, number + 1);
  }

  /**
   * True if the group is always set. Only then a back-reference has the same meaning: PCRE never matches an unset
   * group, JavaScript always does.
   */
  isAlwaysSet(number: number): boolean {
    return this.#isSet[number] === true;
  }
}

/** A part of a JavaScript pattern that a quantifier applies to as a whole. */
export interface Atom {
  readonly source: string;
  /** `character` consumes one character; `fixed` takes no quantifier. */
  readonly kind: 'character' | 'group' | 'lookaround' | 'fixed';
}

/** A back-reference to a group that does not exist yet. */
export interface ForwardReference {
  readonly construct: string;
  readonly target: number | string;
  readonly offset: number;
  /** The offset that PCRE reports if the group does not follow. */
  readonly missingAt: number;
}

/** The state of one translation. */
export interface Reading {
  readonly scanner: Scanner;
  readonly groups: Groups;
  readonly forwardReferences: ForwardReference[];
  flags: Flags;
  /** Numbers of look-arounds and of look-behinds around the current offset. */
  lookarounds: number;
  lookbehinds: number;
  /** Translates everything up to a closing parenthesis or the end. */
  alternatives(): string;
}

export const character = (source: string): Atom => ({ source, kind: 'character' });
export const fixed = (source: string): Atom => ({ source, kind: 'fixed' });

/** A literal character, or both cases of an ASCII letter. */
export function literal(codePoint: number, caseless: boolean): Atom {
  const text = String.fromCodePoint(codePoint);
  if (caseless && /[A-Za-z]/.test(text)) {
    return character(classSource(withBothCases([[codePoint, codePoint]]), false));
  }
  if (codePoint > 0xffff) return character(`(?:${text})`);
  if (/[\^$\\.*+?()[\]{}|]/.test(text)) return character(`\\${text}`);
  return character(
    codePoint < 0x20 || codePoint === 0x7f ? `\\x${codePoint.toString(16).padStart(2, '0')}` : text,
  );
}

/** A back-reference in the pattern. */
interface Reference {
  /** A name, or a number from 1. */
  readonly target: number | string;
  /** Index of its first character. */
  readonly start: number;
  /** The offset that PCRE reports if there is no such group. */
  readonly missingAt: number;
}

/**
 * Translates a back-reference. It is refused where JavaScript matches differently: to a group that may be unset, in
 * caseless mode, and inside a look-behind, which JavaScript reads from right to left.
 */
export function backReference(reading: Reading, { target, start, missingAt }: Reference): Atom {
  const { scanner, groups, flags } = reading;
  const construct = scanner.pattern.slice(start, scanner.at);
  const number = typeof target === 'number' ? target : groups.numberOf(target);
  if (number === undefined || number > groups.count) {
    reading.forwardReferences.push({ construct, target, offset: start, missingAt });
    return { source: '', kind: 'group' };
  }
  if (number < 1) throw scanner.fault('reference to non-existent subpattern', missingAt);
  if (!groups.isAlwaysSet(number)) throw unsetReference(construct, start);
  if (flags.caseless) throw noEquivalent(construct, start, 'a case-insensitive back-reference');
  if (reading.lookbehinds > 0) throw noEquivalent(construct, start, 'a back-reference inside a look-behind');
  return { source: `(?:\\${number})`, kind: 'group' };
}

/** Throws a fault for the first reference whose group follows it or does not exist. */
export function checkForwardReferences({ scanner, groups, forwardReferences }: Reading): void {
  const [first] = forwardReferences;
  if (!first) return;
  const { construct, target, offset, missingAt } = first;
  const exists = typeof target === 'number' ? target <= groups.count : groups.has(target);
  throw exists
    ? unsetReference(construct, offset)
    : scanner.fault('reference to non-existent subpattern', missingAt);
}

const unsetReference = (construct: string, offset: number): Error =>
  noEquivalent(construct, offset, 'a back-reference to a group that may be unset');

const NOT_A_LINE_END = '[^\\n]';

/** Translates an escape outside a class; the scanner is after the backslash. */
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
  if (/[pP]/.test(letter)) return character(classSource(readProperty(scanner), false));
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

/** `\K` moves the reported start of the match, which no directive uses. */
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
    // Relative to the last opened group: -1 is that group, +1 the next one.
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
