import type { BodyTransform } from '../../http/index.ts';

/** One `sub_filter` pattern: bytes as a Latin-1 text, ASCII letters in lower case. */
export interface Pattern {
  readonly text: string;
  readonly index: number;
}

/** An occurrence of a pattern, or the end of the text that may be the start of one. */
interface Occurrence {
  readonly at: number;
  /** `undefined`: more text is needed. */
  readonly pattern: Pattern | undefined;
}

/**
 * Finds the leftmost match of several patterns. Of matches with the same start, the pattern configured first is used.
 * ASCII letters match in both cases, other bytes exactly (nginx: ngx_tolower). Texts are Latin-1: one character is one
 * byte.
 */
export class Search {
  readonly #patterns: readonly Pattern[];
  readonly #regex: RegExp;
  readonly #longest: number;

  constructor(patterns: readonly Pattern[]) {
    this.#patterns = patterns;
    this.#regex = new RegExp(patterns.map(({ text }) => `(${source(text)})`).join('|'), 'g');
    this.#longest = Math.max(...patterns.map(({ text }) => text.length));
  }

  /** Returns the next match at or after `from`; `isLast`: no text follows. */
  next(text: string, from: number, isLast: boolean): Occurrence | undefined {
    this.#regex.lastIndex = from;
    const match = this.#regex.exec(text);
    const pattern = match
      ? this.#patterns[match.findIndex((part, at) => at > 0 && part !== undefined) - 1]
      : undefined;
    const at = match?.index ?? text.length;
    if (isLast || at <= text.length - this.#longest) return pattern && { at, pattern };
    return this.#unfinished(text, from, { at, pattern }) ?? (pattern && { at, pattern });
  }

  /** Returns the end of the text if it may be the start of a match before `found`. */
  #unfinished(text: string, from: number, found: Occurrence): Occurrence | undefined {
    const rivals = this.#patterns;
    const before = found.pattern ? rivals.indexOf(found.pattern) : 0;
    for (let at = Math.max(from, text.length - this.#longest + 1); at <= found.at && at < text.length; at++) {
      const tail = lowerAscii(text.slice(at));
      const open = rivals.findIndex(
        (rival) => rival.text.length > tail.length && rival.text.startsWith(tail),
      );
      if (open >= 0 && (at < found.at || open < before)) return { at, pattern: undefined };
    }
    return undefined;
  }
}

/** Converts ASCII letters, but no other letters of Latin-1, to lower case. */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function source(text: string): string {
  return text.replaceAll(/[^\w]|_|[a-z]/g, (char) =>
    /[a-z]/.test(char)
      ? `[${char}${char.toUpperCase()}]`
      : `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

/** The replacements in one response. */
interface Replacement {
  readonly patterns: readonly Pattern[];
  /** Each pattern is replaced only once. */
  readonly once: boolean;
  /** Returns the replacement of a pattern, as bytes in Latin-1; called at its first match. */
  readonly substitute: (index: number) => string;
  readonly searchFor: (patterns: readonly Pattern[]) => Search;
}

/** Replaces text in a body that may arrive in pieces; a possible start of a match is kept until the next piece. */
export class ReplacingTransform implements BodyTransform {
  readonly #rules: Replacement;
  readonly #substitutes = new Map<number, string>();
  #patterns: readonly Pattern[];
  #search: Search;
  #held = '';

  constructor(rules: Replacement) {
    this.#rules = rules;
    this.#patterns = rules.patterns;
    this.#search = rules.searchFor(rules.patterns);
  }

  whole(body: Uint8Array): Uint8Array {
    return this.#replace(body, true);
  }

  write(piece: Uint8Array): Uint8Array {
    return this.#replace(piece, false);
  }

  end(): Uint8Array {
    return this.#replace(NOTHING, true);
  }

  #replace(piece: Uint8Array, isLast: boolean): Uint8Array {
    if (this.#patterns.length === 0 && this.#held === '') return piece;
    const text = this.#held + latin1(piece);
    let out = '';
    let from = 0;
    while (this.#patterns.length > 0) {
      const found = this.#search.next(text, from, isLast);
      if (!found) break;
      out += text.slice(from, found.at);
      from = found.at;
      if (!found.pattern) {
        this.#held = text.slice(from);
        return Buffer.from(out, 'latin1');
      }
      out += this.#substitute(found.pattern);
      from += found.pattern.text.length;
    }
    this.#held = '';
    return from === 0 && text.length === piece.length ? piece : Buffer.from(out + text.slice(from), 'latin1');
  }

  #substitute(pattern: Pattern): string {
    const { once, searchFor, substitute } = this.#rules;
    if (once) {
      this.#patterns = this.#patterns.filter((other) => other !== pattern);
      if (this.#patterns.length > 0) this.#search = searchFor(this.#patterns);
      return substitute(pattern.index);
    }
    const known = this.#substitutes.get(pattern.index) ?? substitute(pattern.index);
    this.#substitutes.set(pattern.index, known);
    return known;
  }
}

const NOTHING = new Uint8Array(0);

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
