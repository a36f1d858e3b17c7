import type { BodyTransform } from '../../http/index.ts';
import type { Search } from './search.ts';
import type { Pattern } from './search.ts';

/** What is replaced in one answer. */
export interface Replacement {
  readonly patterns: readonly Pattern[];
  /** Each pattern is replaced once. */
  readonly once: boolean;
  /** The text for a pattern, as bytes in Latin-1; asked at its first match. */
  readonly substitute: (index: number) => string;
  readonly searchFor: (patterns: readonly Pattern[]) => Search;
}

/** Replaces text in a body that may come in pieces; what could become a match waits for the next piece. */
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
