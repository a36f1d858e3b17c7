import { isObject } from '../json.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Members of an object. */
type Members = Readonly<Record<string, unknown>>;

/** A JSON object within a token. */
export interface TokenObject {
  /** The JSON, unchanged from the token. */
  readonly text: string;
  readonly members: Members;
  /** The members, with a bigint for each integer that a number cannot hold. */
  readonly exact: Members;
}

const MOST_DEPTH = 32;

/**
 * Reads a JSON object in UTF-8; `undefined` if it is malformed or too deep, or if an object within it has two members
 * of one name, of which different programs read different ones.
 */
export function readObject(bytes: Uint8Array): TokenObject | undefined {
  if (depthOf(bytes) > MOST_DEPTH) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const members = JSON.parse(text) as unknown;
    if (!isObject(members)) return undefined;
    const reader = new SecondReading(text);
    const exact = reader.read();
    if (exact === undefined) return undefined;
    return { text, members, exact: reader.hasBigIntegers ? (exact as Members) : members };
  } catch {
    return undefined;
  }
}

/** The nesting depth, counted without recursion before the text is parsed. */
function depthOf(bytes: Uint8Array): number {
  let depth = 0;
  let deepest = 0;
  let quoted = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (quoted && byte === BACKSLASH) at += 1;
    else if (byte === QUOTE) quoted = !quoted;
    else if (quoted) continue;
    else if (byte === 0x5b || byte === 0x7b) deepest = Math.max(deepest, (depth += 1));
    else if (byte === 0x5d || byte === 0x7d) depth -= 1;
  }
  return deepest;
}

const BLANKS = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;
const SCALAR = /[^ \t\n\r,\]}]+/y;
const INTEGER = /^-?\d+$/;

/** Reads a valid JSON text once more, for what `JSON.parse` does not show: repeated names, and all digits of integers. */
class SecondReading {
  hasBigIntegers = false;
  readonly #text: string;
  #at = 0;
  #hasRepeatedNames = false;

  constructor(text: string) {
    this.#text = text;
  }

  /** The value; `undefined` if an object has a name twice. */
  read(): unknown {
    const value = this.#value();
    return this.#hasRepeatedNames ? undefined : value;
  }

  #value(): unknown {
    this.#take(BLANKS);
    const first = this.#text[this.#at];
    if (first === '{') return this.#object();
    if (first === '[') return this.#array();
    if (first === '"') return this.#string();
    const scalar = this.#take(SCALAR);
    if (!INTEGER.test(scalar) || Number.isSafeInteger(Number(scalar))) return JSON.parse(scalar);
    this.hasBigIntegers = true;
    return BigInt(scalar);
  }

  #object(): Members {
    const members = new Map<string, unknown>();
    while (this.#next('}')) {
      this.#take(BLANKS);
      const name = this.#string();
      this.#take(BLANKS);
      // The colon.
      this.#at += 1;
      if (members.has(name)) this.#hasRepeatedNames = true;
      members.set(name, this.#value());
    }
    return Object.fromEntries(members);
  }

  #array(): unknown[] {
    const elements: unknown[] = [];
    while (this.#next(']')) elements.push(this.#value());
    return elements;
  }

  /** Passes a bracket or a comma. False if the end follows, which is passed too. */
  #next(end: string): boolean {
    this.#take(BLANKS);
    if (this.#text[this.#at] === end) {
      this.#at += 1;
      return false;
    }
    this.#at += 1;
    this.#take(BLANKS);
    if (this.#text[this.#at] !== end) return true;
    this.#at += 1;
    return false;
  }

  #string(): string {
    const quoted = this.#take(STRING);
    return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }
}
