import { classSource, complement, withBothCases, type CodePoints, type Range } from './code-points.ts';
import { noEquivalentProperty, octal, readCharacterEscape, unknownEscape } from './escape.ts';
import type { Flags } from './flags.ts';
import { POSIX_SETS, SHORTHAND_SETS } from './named-sets.ts';
import type { Scanner } from './scanner.ts';

/** One item of a class: a code point, which may begin or end a range, or a whole set, which may not. */
type Item = number | CodePoints;

/** Reads `[…]` behind its bracket and gives the JavaScript class that means the same. */
export function readBracket(scanner: Scanner, flags: Flags): string {
  const negated = scanner.eat('^');
  const ranges: Range[] = [];
  const items = new ClassItems(scanner, flags);
  for (let item = items.read(true); item !== undefined; item = items.read(false)) {
    ranges.push(...(typeof item === 'number' ? [items.rangeFrom(item)] : item));
    if (typeof item !== 'number') items.refuseRange();
  }
  return classSource(flags.caseless ? withBothCases(ranges) : ranges, negated);
}

class ClassItems {
  readonly #scanner: Scanner;
  readonly #flags: Flags;
  #literal = false;

  constructor(scanner: Scanner, flags: Flags) {
    this.#scanner = scanner;
    this.#flags = flags;
  }

  /** The next item; `undefined` behind the closing bracket. A first `]` is a plain character. */
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

  /** The range that begins with `first`, or `first` alone when no range follows. */
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

  /** A set cannot begin a range: `[\d-z]`. */
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
    // PCRE takes these for themselves inside a class.
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
    if (/[pP]/.test(scanner.next)) throw noEquivalentProperty(scanner);
    throw unknownEscape(scanner);
  }
}
