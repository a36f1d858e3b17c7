import {
  type Atom,
  backReference,
  character,
  checkForwardReferences,
  fixed,
  type ForwardReference,
  Groups,
  literal,
  readEscapedAtom,
  type Reading,
} from './atom.ts';
import { boundsOf, type RegexBounds } from './bounds.ts';
import { readBracket } from './character-class.ts';
import { type Flags, NO_FLAGS, noEquivalent, PatternFault, Scanner, withLetters } from './scanner.ts';

const LOOKAROUNDS = ['=', '!', '<=', '<!'] as const;

/** Constructs without equivalent, by the characters after `(?`; calls and conditions are reported as a whole. */
const WITHOUT_EQUIVALENT = /[|>*]|<\*/y;
const CALLS = /R|&|P>|C|\(|[+-]?\d/y;

/** Translates a group; the scanner is after its parenthesis. */
function readGroup(reading: Reading): Atom {
  const { scanner, flags } = reading;
  const start = scanner.at - 1;
  if (scanner.take(/\*(?=[A-Za-z:])/y)) throw scanner.noEquivalentGroup(start);
  if (!scanner.eat('?')) return flags.noCapture ? plain(reading, flags) : capture(reading);
  if (scanner.eat(':')) return plain(reading, flags);
  for (const opening of LOOKAROUNDS) if (scanner.eat(opening)) return lookaround(reading, opening);
  const construct = scanner.take(WITHOUT_EQUIVALENT);
  if (construct) throw noEquivalent(`(?${construct[0]}`, start);
  if (scanner.take(CALLS)) throw scanner.noEquivalentGroup(start);
  if (scanner.eat('<') || scanner.eat('P<')) return capture(reading, '>');
  if (scanner.eat("'")) return capture(reading, "'");
  if (scanner.eat('P=')) return namedReference(reading, start);
  if (scanner.eat('P')) throw unrecognized(reading, '(?P');
  return flagGroup(reading, start);
}

function body(reading: Reading, flags = reading.flags): string {
  const { scanner } = reading;
  const outer = reading.flags;
  reading.flags = flags;
  const inner = reading.alternatives();
  reading.flags = outer;
  if (!scanner.eat(')')) throw scanner.fault('missing closing parenthesis', scanner.pattern.length);
  return inner;
}

function plain(reading: Reading, flags: Flags): Atom {
  return { source: `(?:${body(reading, flags)})`, kind: 'group' };
}

function capture(reading: Reading, terminator?: string): Atom {
  const { scanner, groups } = reading;
  const name = terminator === undefined ? undefined : scanner.name(terminator);
  if (name !== undefined && groups.has(name)) {
    throw scanner.fault('two named subpatterns have the same name (PCRE2_DUPNAMES not set)');
  }
  const number = groups.open(name);
  const source = body(reading);
  groups.close(number);
  return { source: name === undefined ? `(${source})` : `(?<${name}>${source})`, kind: 'group' };
}

function lookaround(reading: Reading, opening: (typeof LOOKAROUNDS)[number]): Atom {
  const { groups } = reading;
  const isBehind = opening.startsWith('<');
  const before = groups.count;
  reading.lookarounds += 1;
  if (isBehind) reading.lookbehinds += 1;
  const source = body(reading);
  reading.lookarounds -= 1;
  if (isBehind) reading.lookbehinds -= 1;
  if (opening.endsWith('!')) groups.mayBeUnsetAbove(before);
  return { source: `(?${opening}${source})`, kind: 'lookaround' };
}

/** Translates `(?P=name)`. */
function namedReference(reading: Reading, start: number): Atom {
  const missingAt = reading.scanner.at;
  const target = reading.scanner.name(')');
  return backReference(reading, { target, start, missingAt });
}

/** Reads `(?i)` for the rest of the enclosing group, or `(?i:…)` for its own. */
function flagGroup(reading: Reading, start: number): Atom {
  const { scanner } = reading;
  const [letters] = scanner.take(/\^?[imnsxUJ]*(?:-[imnsxUJ]*)?/y) as RegExpExecArray;
  if (/^\^.*-/.test(letters)) {
    throw scanner.fault('invalid hyphen in option setting', start + 2 + letters.indexOf('-'));
  }
  if (letters.includes('J')) throw noEquivalent('(?J)', start);
  const flags = withLetters(reading.flags, letters);
  if (scanner.eat(':')) return plain(reading, flags);
  if (!scanner.eat(')')) throw unrecognized(reading, '(? or (?-');
  reading.flags = flags;
  return fixed('');
}

function unrecognized({ scanner }: Reading, opening: string): Error {
  return scanner.fault(
    scanner.done ? 'missing closing parenthesis' : `unrecognized character after ${opening}`,
  );
}

const MAX_COUNT = 65_535;

/** The bounds and the mode of a repetition. */
interface Quantifier {
  readonly min: number;
  /** `Infinity` without an upper bound. */
  readonly max: number;
  readonly mode: 'greedy' | 'lazy' | 'possessive';
}

/** Reads a quantifier if one comes next. Any other `{` is a literal, `{,n}` included (PCRE2 before 10.43). */
function readQuantifier(scanner: Scanner, ungreedy: boolean): Quantifier | undefined {
  const bounds = readBounds(scanner);
  if (!bounds) return undefined;
  if (scanner.eat('+')) return { ...bounds, mode: 'possessive' };
  const isLazy = scanner.eat('?') !== ungreedy;
  return { ...bounds, mode: isLazy ? 'lazy' : 'greedy' };
}

function readBounds(scanner: Scanner): { readonly min: number; readonly max: number } | undefined {
  if (scanner.eat('*')) return { min: 0, max: Infinity };
  if (scanner.eat('+')) return { min: 1, max: Infinity };
  if (scanner.eat('?')) return { min: 0, max: 1 };
  const counted = scanner.take(/\{(\d+)(,(\d*))?\}/y);
  if (!counted) return undefined;
  const [, first = '', open, second] = counted;
  const min = Number(first);
  const max = open === undefined ? min : second ? Number(second) : Infinity;
  const end = scanner.at - 1;
  if (min > MAX_COUNT || (max !== Infinity && max > MAX_COUNT)) {
    throw scanner.fault('number too big in {} quantifier', end);
  }
  if (max < min) throw scanner.fault('numbers out of order in {} quantifier', end);
  return { min, max };
}

/**
 * The atom with its quantifier. A possessive one must be a single character: it is repeated as often as possible, and a
 * look-ahead excludes another one.
 */
function quantified(atom: string, { min, max, mode }: Quantifier): string {
  if (mode !== 'possessive' || min === max) return `${atom}${bounds(min, max)}${mode === 'lazy' ? '?' : ''}`;
  const taken = `${atom}${bounds(min, max === Infinity ? max : max - 1)}(?!${atom})`;
  return max === Infinity ? `(?:${taken})` : `(?:${atom}${bounds(max, max)}|${taken})`;
}

function bounds(min: number, max: number): string {
  if (max === Infinity) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`;
  if (min === 0 && max === 1) return '?';
  return min === max ? `{${min}}` : `{${min},${max}}`;
}

/** A translated pattern as plain data. */
export interface TranslatedRegex {
  /** The pattern for `new RegExp(source)` without flags. */
  readonly source: string;
  /** Number of capture groups, named ones included; numbers are PCRE's. */
  readonly groups: number;
  readonly names: readonly string[];
  readonly bounds: RegexBounds;
}

/** The reason why a pattern cannot be used, in PCRE2's words, and its offset in the pattern. */
interface RegexFault {
  readonly fault: string;
  readonly offset: number;
}

const MAX_DEPTH = 250;

/**
 * Translates a pattern of PCRE2 (10.42, without UTF, as in nginx) to JavaScript without the flags `i`, `u` and `v`,
 * which would exclude V8's linear engine. A construct without equivalent is a fault that names it. Differences remain:
 * `$` matches only at the very end, not before a final line feed; text is matched by UTF-16 unit, not by UTF-8 byte; a
 * group inside a repeated group is unset if its last repetition skipped it.
 */
export function translatePcre(
  pattern: string,
  { caseless }: { readonly caseless: boolean },
): TranslatedRegex | RegexFault {
  try {
    return new Translation(pattern, { ...NO_FLAGS, caseless }).run();
  } catch (error) {
    if (error instanceof PatternFault) return { fault: error.message, offset: error.offset };
    throw error;
  }
}

class Translation implements Reading {
  readonly scanner: Scanner;
  readonly groups = new Groups();
  readonly forwardReferences: ForwardReference[] = [];
  flags: Flags;
  lookarounds = 0;
  lookbehinds = 0;
  #depth = 0;
  /** True between `\Q` and `\E`. */
  #isQuoted = false;

  constructor(pattern: string, flags: Flags) {
    this.scanner = new Scanner(pattern);
    this.flags = flags;
  }

  run(): TranslatedRegex {
    const { scanner, groups } = this;
    // The text is already decoded, so this option changes nothing.
    scanner.take(/\(\*UTF8?\)/y);
    const source = this.alternatives();
    if (!scanner.done) throw scanner.fault('unmatched closing parenthesis');
    checkForwardReferences(this);
    refuseTooLarge(source, scanner);
    return { source, groups: groups.count, names: groups.names, bounds: boundsOf(source) };
  }

  alternatives(): string {
    if (this.#depth > MAX_DEPTH) throw this.scanner.fault('parentheses are too deeply nested');
    this.#depth += 1;
    const before = this.groups.count;
    const branches = [this.#sequence()];
    while (this.scanner.eat('|')) {
      this.groups.mayBeUnsetAbove(before);
      branches.push(this.#sequence());
    }
    if (branches.length > 1) this.groups.mayBeUnsetAbove(before);
    this.#depth -= 1;
    return branches.join('|');
  }

  #sequence(): string {
    const { scanner } = this;
    let source = '';
    for (;;) {
      this.#skipIgnored();
      if (scanner.done || (!this.#isQuoted && /[|)]/.test(scanner.next))) return source;
      const before = this.groups.count;
      source += this.#quantify(this.#atom(), before);
    }
  }

  #atom(): Atom {
    const { scanner, flags } = this;
    if (this.#isQuoted) return literal(scanner.codePoint(), flags.caseless);
    refuseQuantifier(scanner);
    if (scanner.eat('\\')) return readEscapedAtom(this);
    if (scanner.next === '[') return this.#bracket();
    if (scanner.eat('(')) return readGroup(this);
    if (scanner.eat('.')) return character(flags.dotAll ? '[^]' : '[^\\n]');
    if (scanner.eat('^')) return this.#lineStart();
    if (scanner.eat('$')) return this.#lineEnd();
    return literal(scanner.codePoint(), flags.caseless);
  }

  #quantify(atom: Atom, groupsBefore: number): string {
    const start = this.scanner.at;
    this.#skipIgnored();
    if (atom.kind === 'fixed' || this.#isQuoted) return atom.source;
    const quantifier = readQuantifier(this.scanner, this.flags.ungreedy);
    if (!quantifier) return atom.source;
    if (quantifier.mode === 'possessive' && atom.kind !== 'character') throw this.#noPossessive(start);
    if (quantifier.min === 0) this.groups.mayBeUnsetAbove(groupsBefore);
    // JavaScript allows quantifiers only on some assertions, as legacy syntax, and never on look-behinds.
    const target = atom.kind === 'lookaround' ? `(?:${atom.source})` : atom.source;
    return quantified(target, quantifier);
  }

  #noPossessive(start: number): PatternFault {
    const { pattern, at } = this.scanner;
    return noEquivalent(pattern.slice(start, at), start, 'a possessive quantifier on a group');
  }

  #bracket(): Atom {
    const { scanner, flags } = this;
    const boundary = scanner.take(/\[\[:([<>]):\]\]/y);
    if (boundary) return fixed(boundary[1] === '<' ? '\\b(?=\\w)' : '\\b(?<=\\w)');
    const kind = scanner.peek(/\[([:.=])[^\]\\[]*\1\]/y)?.[1];
    if (kind === ':') throw scanner.fault('POSIX named classes are supported only within a class');
    if (kind) throw scanner.fault('POSIX collating elements are not supported', scanner.at + 1);
    scanner.at += 1;
    return character(readBracket(scanner, flags));
  }

  #lineStart(): Atom {
    return fixed(this.flags.multiLine ? '(?:^|(?<=\\n)(?!$))' : '^');
  }

  #lineEnd(): Atom {
    return fixed(this.flags.multiLine ? '(?![^\\n])' : '$');
  }

  /** Skips comments, blanks in extended mode, `\Q` and `\E`: a quantifier after them applies to the item before. */
  #skipIgnored(): void {
    const { scanner } = this;
    for (;;) {
      if (this.#isQuoted) {
        if (!scanner.eat('\\E')) return;
        this.#isQuoted = false;
      } else if (scanner.eat('\\Q')) {
        this.#isQuoted = true;
      } else if (scanner.eat('(?#')) {
        if (!scanner.take(/[^)]*\)/y))
          throw scanner.fault('missing ) after (?# comment', scanner.pattern.length);
      } else if (!scanner.eat('\\E') && !(this.flags.extended && scanner.take(/[\t-\r ]+|#[^\n]*\n?/y))) {
        return;
      }
    }
  }
}

function refuseQuantifier(scanner: Scanner): void {
  const start = scanner.at;
  if (!readQuantifier(scanner, false)) return;
  const end = scanner.pattern.charAt(start) === '{' ? scanner.pattern.indexOf('}', start) : start;
  throw scanner.fault('quantifier does not follow a repeatable item', end);
}

// V8 parses any count and fails on first use if the program is too large.
function refuseTooLarge(source: string, scanner: Scanner): void {
  try {
    new RegExp(source).test('');
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw scanner.fault('regular expression is too large', scanner.pattern.length);
  }
}
