import { character, fixed, literal, type Atom, type ForwardReference, type Reading } from './atom.ts';
import { boundsOf, type RegexBounds } from './bounds.ts';
import { readBracket } from './bracket.ts';
import { readEscapedAtom } from './escaped-atom.ts';
import { PatternFault, noEquivalent } from './fault.ts';
import { NO_FLAGS, type Flags } from './flags.ts';
import { readGroup } from './group.ts';
import { Groups } from './groups.ts';
import { quantified, readQuantifier } from './quantifier.ts';
import { checkForwardReferences } from './reference.ts';
import { Scanner } from './scanner.ts';

/** A pattern in JavaScript's terms; plain data. */
export interface TranslatedRegex {
  /** For `new RegExp(source)` without any flag. */
  readonly source: string;
  /** How many capture groups there are, the named ones included; numbers are PCRE's. */
  readonly groups: number;
  readonly names: readonly string[];
  readonly bounds: RegexBounds;
}

/** Why a pattern cannot be used, in PCRE2's words, and where in the pattern. */
export interface RegexFault {
  readonly fault: string;
  readonly offset: number;
}

const MAX_DEPTH = 250;

/**
 * nginx's PCRE2 (10.42, without UTF) in JavaScript's terms, without the flags `i`, `u` and `v`, which would keep V8's
 * linear engine out. A construct without equivalent is a fault that names it. What stays different: `$` matches at the
 * very end only, not before a final line feed; text is matched by UTF-16 unit, not by UTF-8 byte; a group inside a
 * repeated group is unset when its last round did not take it.
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
  /** Between `\Q` and `\E`. */
  #isQuoted = false;

  constructor(pattern: string, flags: Flags) {
    this.scanner = new Scanner(pattern);
    this.flags = flags;
  }

  run(): TranslatedRegex {
    const { scanner, groups } = this;
    // Text is decoded already: what this asks for is so.
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
    // JavaScript repeats some assertions only in web pages' legacy syntax, and look-behinds never.
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

  /** Comments, blanks in extended mode, and the quotes `\Q` and `\E`: a quantifier behind them belongs to what is before. */
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

// V8 parses any count and finds out on first use that it cannot hold the program.
function refuseTooLarge(source: string, scanner: Scanner): void {
  try {
    new RegExp(source).test('');
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw scanner.fault('regular expression is too large', scanner.pattern.length);
  }
}
