/** One `sub_filter`: what is looked for, as bytes in a Latin-1 text, ASCII in lower case. */
export interface Pattern {
  readonly text: string;
  readonly index: number;
}

/** Where a pattern was found, or where the text ends in what might become one. */
export interface Found {
  readonly at: number;
  /** `undefined`: more of the text is needed. */
  readonly pattern: Pattern | undefined;
}

/**
 * Finds the leftmost match of several patterns; of two at the same place the one that was configured first. ASCII letters
 * match in both cases, other bytes as they are (nginx: ngx_tolower). Texts are Latin-1: one character is one byte.
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

  /** The next match at or behind `from`; `isLast`: nothing follows this text. */
  next(text: string, from: number, isLast: boolean): Found | undefined {
    this.#regex.lastIndex = from;
    const match = this.#regex.exec(text);
    const pattern = match
      ? this.#patterns[match.findIndex((part, at) => at > 0 && part !== undefined) - 1]
      : undefined;
    const at = match?.index ?? text.length;
    if (isLast || at <= text.length - this.#longest) return pattern && { at, pattern };
    return this.#unfinished(text, from, { at, pattern }) ?? (pattern && { at, pattern });
  }

  /** The end of the text, where it may be the beginning of a match that comes before `found`. */
  #unfinished(text: string, from: number, found: Found): Found | undefined {
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

/** ASCII letters in lower case; the rest of Latin-1 has cases too, which do not count. */
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
