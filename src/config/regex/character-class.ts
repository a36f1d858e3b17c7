import {
  type CodePoints,
  complement,
  intersect,
  LAST_CODE_POINT,
  merge,
  type Range,
  withBothCases,
} from './code-points.ts';
import { readProperty } from './properties.ts';
import { type Flags, octal, readCharacterEscape, type Scanner, unknownEscape } from './scanner.ts';

const FIRST_ASTRAL = 0x10000;
const SURROGATES: Range = [0xd800, 0xdfff];

/**
 * A JavaScript pattern (without the `u` flag) for one character in the set, or not in it. Characters beyond U+FFFF are
 * pairs of UTF-16 units: a set that distinguishes some of them becomes an alternation.
 */
export function classSource(set: CodePoints, negated: boolean): string {
  const merged = merge(set);
  const astral = intersect(merged, [FIRST_ASTRAL, LAST_CODE_POINT]);
  const [whole] = astral;
  const isPlain = whole === undefined || (whole[0] === FIRST_ASTRAL && whole[1] === LAST_CODE_POINT);
  if (isPlain) return `[${negated ? '^' : ''}${intersect(merged, [0, 0xffff]).map(rangeSource).join('')}]`;
  return alternationSource(negated ? complement(merged) : merged);
}

function alternationSource(set: CodePoints): string {
  const units = [...intersect(set, [0, SURROGATES[0] - 1]), ...intersect(set, [SURROGATES[1] + 1, 0xffff])];
  const plain = units.length === 0 ? [] : [`[${units.map(rangeSource).join('')}]`];
  return `(?:${[...plain, ...pairSources(intersect(set, [FIRST_ASTRAL, LAST_CODE_POINT]))].join('|')})`;
}

/** The pairs of astral ranges. High surrogates with the same low ones after them are listed together. */
function pairSources(astral: CodePoints): string[] {
  const lowsOf = new Map<number, string>();
  for (const [first, last] of astral) {
    for (let high = highOf(first); high <= highOf(last); high++) {
      const low = high === highOf(first) ? lowOf(first) : LOWS[0];
      const lows = rangeSource([low, high === highOf(last) ? lowOf(last) : LOWS[1]]);
      lowsOf.set(high, (lowsOf.get(high) ?? '') + lows);
    }
  }
  const highsOf = new Map<string, Range[]>();
  for (const [high, lows] of lowsOf) highsOf.set(lows, [...(highsOf.get(lows) ?? []), [high, high]]);
  return [...highsOf].map(([lows, highs]) => `[${merge(highs).map(rangeSource).join('')}][${lows}]`);
}

const LOWS: Range = [0xdc00, 0xdfff];
const highOf = (codePoint: number): number => 0xd800 + ((codePoint - FIRST_ASTRAL) >> 10);
const lowOf = (codePoint: number): number => 0xdc00 + ((codePoint - FIRST_ASTRAL) & 0x3ff);

function rangeSource([first, last]: Range): string {
  if (first === last) return unitSource(first);
  return `${unitSource(first)}${last === first + 1 ? '' : '-'}${unitSource(last)}`;
}

function unitSource(unit: number): string {
  const character = String.fromCharCode(unit);
  if (/[\w ~!"#$%&'()*+,./:;<=>?@`{|}]/.test(character)) return character;
  return unit < 0x80 && unit > 0x20 ? `\\${character}` : `\\u${unit.toString(16).padStart(4, '0')}`;
}

const digit: CodePoints = [[0x30, 0x39]];
const upper: CodePoints = [[0x41, 0x5a]];
const lower: CodePoints = [[0x61, 0x7a]];
const alpha: CodePoints = [...upper, ...lower];
const alnum: CodePoints = [...digit, ...alpha];
const word: CodePoints = [...alnum, [0x5f, 0x5f]];
const space: CodePoints = [
  [0x09, 0x0d],
  [0x20, 0x20],
];
const xdigit: CodePoints = [...digit, [0x41, 0x46], [0x61, 0x66]];
const punct: CodePoints = [
  [0x21, 0x2f],
  [0x3a, 0x40],
  [0x5b, 0x60],
  [0x7b, 0x7e],
];

/** `[:name:]` in PCRE's built-in "C" tables: ASCII only. */
const POSIX_SETS: Readonly<Record<string, CodePoints>> = {
  alpha,
  lower,
  upper,
  alnum,
  digit,
  xdigit,
  word,
  space,
  punct,
  ascii: [[0, 0x7f]],
  blank: [
    [0x09, 0x09],
    [0x20, 0x20],
  ],
  cntrl: [
    [0, 0x1f],
    [0x7f, 0x7f],
  ],
  graph: [[0x21, 0x7e]],
  print: [[0x20, 0x7e]],
};

const horizontalSpace: CodePoints = [
  [0x09, 0x09],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x180e, 0x180e],
  [0x2000, 0x200a],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
];

/** The characters that `\R` and `\v` treat as line ends, besides the pair CR LF. */
export const verticalSpace: CodePoints = [
  [0x0a, 0x0d],
  [0x85, 0x85],
  [0x2028, 0x2029],
];

/** The sets of `\d`, `\W` and so on in PCRE, which differ from JavaScript's for `\s`, `\h` and `\v`. */
export const SHORTHAND_SETS: Readonly<Record<string, CodePoints>> = {
  d: digit,
  D: complement(digit),
  w: word,
  W: complement(word),
  s: space,
  S: complement(space),
  h: horizontalSpace,
  H: complement(horizontalSpace),
  v: verticalSpace,
  V: complement(verticalSpace),
};

/** An item of a class: a code point, which may start or end a range, or a set, which may not. */
type Item = number | CodePoints;

/** Reads a class after its `[` and gives the equivalent JavaScript pattern. */
export function readBracket(scanner: Scanner, flags: Flags): string {
  const negated = scanner.eat('^');
  const ranges: Range[] = [];
  const sets: Range[] = [];
  const items = new ClassItems(scanner, flags);
  for (let item = items.read(true); item !== undefined; item = items.read(false)) {
    if (typeof item === 'number') ranges.push(items.rangeFrom(item));
    else {
      sets.push(...item);
      items.refuseRange();
    }
  }
  return classSource([...(flags.caseless ? withBothCases(ranges) : ranges), ...sets], negated);
}

class ClassItems {
  readonly #scanner: Scanner;
  readonly #flags: Flags;
  #literal = false;

  constructor(scanner: Scanner, flags: Flags) {
    this.#scanner = scanner;
    this.#flags = flags;
  }

  /** The next item; `undefined` after the closing bracket. A `]` as the first item is a plain character. */
  read(isFirst: boolean): Item | undefined {
    const scanner = this.#scanner;
    this.#skipIgnored();
    if (scanner.done)
      throw scanner.fault('missing terminating ] for character class', scanner.pattern.length);
    if (this.#literal) return scanner.codePoint();
    if (!isFirst && scanner.eat(']')) return undefined;
    if (scanner.next === '[') return this.#posix() ?? scanner.codePoint();
    return scanner.eat('\\') ? this.#escape() : scanner.codePoint();
  }

  /** The range that starts with `first`, or `first` alone if no range follows. */
  rangeFrom(first: number): Range {
    const scanner = this.#scanner;
    this.#skipIgnored();
    if (this.#literal || !scanner.take(/-(?!\])/y)) return [first, first];
    this.#skipIgnored();
    if (!this.#literal && scanner.next === ']') {
      scanner.at -= 1;
      return [first, first];
    }
    const last = this.read(true);
    if (typeof last !== 'number') throw scanner.fault('invalid range in character class');
    if (last < first) throw scanner.fault('range out of order in character class', scanner.at - 1);
    return [first, last];
  }

  /** Throws if a set starts a range: `[\d-z]`. */
  refuseRange(): void {
    if (!this.#literal && this.#scanner.take(/-(?!\]|$)/y)) {
      throw this.#scanner.fault('invalid range in character class', this.#scanner.at - 1);
    }
  }

  #skipIgnored(): void {
    const scanner = this.#scanner;
    for (;;) {
      if (this.#literal) {
        if (!scanner.eat('\\E')) return;
        this.#literal = false;
      } else if (scanner.eat('\\Q')) {
        this.#literal = true;
      } else if (!scanner.eat('\\E') && !(this.#flags.extended === 2 && scanner.take(/[ \t]/y))) {
        return;
      }
    }
  }

  #posix(): CodePoints | undefined {
    const scanner = this.#scanner;
    if (scanner.peek(/\[([.=])[^\]\\[]*\1\]/y)) {
      throw scanner.fault('POSIX collating elements are not supported');
    }
    const start = scanner.at;
    const match = scanner.take(/\[:(\^?)([a-z]*):\]/y);
    if (!match) return undefined;
    const set = POSIX_SETS[match[2] as string];
    if (!set) throw scanner.fault('unknown POSIX class name', start + 2);
    const cased = this.#flags.caseless ? withBothCases(set) : set;
    return match[1] === '^' ? complement(cased) : cased;
  }

  #escape(): Item {
    const scanner = this.#scanner;
    if (scanner.done) throw unknownEscape(scanner);
    const character = readCharacterEscape(scanner);
    if (character !== undefined) return character;
    const digits = scanner.take(/[0-7]{1,3}/y);
    if (digits) return octal(digits[0]);
    // PCRE treats these as literals inside a class.
    if (/[89g]/.test(scanner.next)) return scanner.codePoint();
    if (scanner.eat('b')) return 0x08;
    const set = SHORTHAND_SETS[scanner.next];
    if (set) {
      scanner.at += 1;
      return set;
    }
    if (/[ABCGKRXZkz]/.test(scanner.next)) {
      throw scanner.fault('escape sequence is invalid in character class');
    }
    if (scanner.next === 'N') throw scanner.fault('\\N is not supported in a class', scanner.at + 1);
    if (/[pP]/.test(scanner.next)) return readProperty(scanner);
    throw unknownEscape(scanner);
  }
}
