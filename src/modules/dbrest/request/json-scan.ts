import { invalidJson, type OtherElement, tooLarge, unequalKeys } from '../fault/index.ts';
import type { Turn } from '../event-loop.ts';

/** Most columns of a table or composite type in PostgreSQL. */
const MOST_KEYS = 1_600;
/** A name of 63 bytes, each of them written as `\u0000`. */
const LONGEST_KEY_BYTES = 63 * 6;

/** Compares the keys of objects: all must have those of the first one, in any order. */
class KeyWatch {
  readonly #bytes: Buffer;
  readonly #differ: (key: string, isMissing: boolean) => void;
  readonly #names = new Set<string>();
  /** Offsets of the keys of the first object: begin, end, begin, end … */
  readonly #keyOffsets: number[] = [];
  #isFirst = true;
  /** How many keys of the current object equal those of the first one, in the same order. */
  #alike = 0;
  /** The names in the current object, once their order differs. */
  #own: Set<string> | undefined;

  constructor(bytes: Buffer, differ: (key: string, isMissing: boolean) => void) {
    this.#bytes = bytes;
    this.#differ = differ;
  }

  get names(): readonly string[] {
    return [...this.#names];
  }

  beginRow(): void {
    this.#alike = 0;
    this.#own = undefined;
  }

  /** Takes a key by its offsets; escapes have not been decoded. */
  key(from: number, end: number): void {
    if (this.#isFirst) {
      this.#names.add(this.#decode(from, end));
      this.#keyOffsets.push(from, end);
      // Keys are counted, not names: a repeated name needs as much memory as a new one.
      if (this.#keyOffsets.length > 2 * MOST_KEYS) throw tooLarge(`a row has at most ${MOST_KEYS} columns`);
    } else if (!this.#own && this.#isAlike(from, end)) this.#alike += 1;
    else this.#addOwn(this.#decode(from, end));
  }

  /** Reports an object whose names differ from those of the first one. */
  endRow(): void {
    if (!this.#isFirst && (this.#own || this.#alike * 2 !== this.#keyOffsets.length)) {
      const own = this.#differing();
      if (own.size !== this.#names.size) this.#differ(this.names.find((name) => !own.has(name)) ?? '', true);
    }
    this.#isFirst = false;
  }

  /** Only names of the first object are stored, which bounds the memory. */
  #addOwn(name: string): void {
    const own = this.#differing();
    if (this.#names.has(name)) own.add(name);
    else this.#differ(name, false);
  }

  #isAlike(from: number, end: number): boolean {
    const first = this.#keyOffsets[this.#alike * 2];
    const firstEnd = this.#keyOffsets[this.#alike * 2 + 1];
    if (first === undefined || firstEnd === undefined || firstEnd - first !== end - from) return false;
    for (let i = 0; i < end - from; i += 1) {
      if (this.#bytes[first + i] !== this.#bytes[from + i]) return false;
    }
    return true;
  }

  #differing(): Set<string> {
    if (!this.#own) {
      this.#own = new Set();
      for (let i = 0; i < this.#alike * 2; i += 2) {
        this.#own.add(this.#decode(this.#keyOffsets[i] as number, this.#keyOffsets[i + 1] as number));
      }
    }
    return this.#own;
  }

  #decode(from: number, end: number): string {
    if (end - from > LONGEST_KEY_BYTES) throw tooLarge('a name has at most 63 bytes');
    const text = this.#bytes.toString('utf8', from, end);
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }
}

/** The top-level shape of a JSON text. */
interface JsonShape {
  readonly kind: 'object' | 'array' | 'scalar';
  /** Keys of the object, or of each object in the array. Empty for `KeyCheck` `any`. */
  readonly keys: readonly string[];
  /** The array has more than one element. */
  readonly isSeveral?: boolean;
  /** The first element of the array that is not an object with these keys. */
  readonly differs?: OtherElement;
}

/**
 * `same`: each element of an array must be an object with the same keys, else the scan throws. `told`: the result shows
 * whether they differ. `any`: keys are not collected.
 */
type KeyCheck = 'same' | 'told' | 'any';

/** Bytes scanned between two yields to the event loop, which takes one or two milliseconds. */
const PIECE_BYTES = 262_144;
/** PostgreSQL parses JSON recursively, bounded by the size of its stack. */
const DEEPEST = 1_000;
/** No numeric type of PostgreSQL has more digits. */
const LONGEST_NUMBER = 150_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** 1 for characters that may follow a backslash. */
const ESCAPES = Uint8Array.from({ length: 256 }, (_, code) =>
  Number('"\\/bfnrt'.includes(String.fromCharCode(code))),
);
const LITERAL = /^(?:true|false|null)/;

/** The states of the scanner: the token that may come next. A string is allowed in states up to `KEY`. */
const VALUE = 0;
const FIRST_VALUE = 1;
const FIRST_KEY = 2;
const KEY = 3;
const AFTER_KEY = 4;
const AFTER_VALUE = 5;
const NOTHING = 6;

/**
 * Validates a JSON text (RFC 8259) without building values: PostgreSQL gets the original bytes. Large texts are scanned
 * in pieces. Throws PGRST102. The database checks that strings are UTF-8.
 */
export async function scanJson(bytes: Buffer, keys: KeyCheck, turn: Turn): Promise<JsonShape> {
  const scan = new JsonScan(bytes, keys);
  while (!scan.advance(PIECE_BYTES)) await turn();
  return scan.shape;
}

class JsonScan {
  readonly #bytes: Buffer;
  readonly #watch: KeyWatch | undefined;
  readonly #isStrict: boolean;
  #differs: OtherElement | undefined;
  /** One flag per open level: it is an object. */
  readonly #isObject: boolean[] = [];
  #depth = 0;
  #at = 0;
  #next = VALUE;
  /** The offset of the current string, or -1. */
  #stringFrom = -1;
  #kind: JsonShape['kind'] = 'scalar';
  /** The number of the current element of the array. */
  #element = 1;

  constructor(bytes: Buffer, keys: KeyCheck) {
    this.#bytes = bytes;
    this.#isStrict = keys === 'same';
    this.#watch =
      keys === 'any' ? undefined : new KeyWatch(bytes, (key, isMissing) => this.#differ(key, isMissing));
  }

  get shape(): JsonShape {
    return {
      kind: this.#kind,
      keys: this.#watch?.names ?? [],
      ...(this.#element > 1 && { isSeveral: true }),
      ...(this.#differs && { differs: this.#differs }),
    };
  }

  /** Scans about `count` bytes. Returns true at the end of the text. */
  advance(count: number): boolean {
    const bytes = this.#bytes;
    const until = Math.min(this.#at + count, bytes.length);
    while (this.#at < until) {
      const byte = bytes[this.#at] as number;
      if (this.#stringFrom >= 0) this.#goOnInString(until);
      else if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) this.#at += 1;
      else if (byte === QUOTE) this.#beginString();
      else if (byte === COMMA) this.#comma();
      else if (byte === COLON) this.#colon();
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#open(byte === OPEN_OBJECT);
      else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#close(byte === CLOSE_OBJECT);
      else this.#bareValue(byte);
    }
    if (this.#at < bytes.length) return false;
    if (this.#next !== NOTHING || this.#stringFrom >= 0) throw invalidJson();
    return true;
  }

  #beginString(): void {
    if (this.#next > KEY) throw invalidJson();
    if (this.#next < FIRST_KEY) this.#expectValue(false);
    this.#at += 1;
    this.#stringFrom = this.#at;
  }

  #goOnInString(until: number): void {
    const bytes = this.#bytes;
    let at = this.#at;
    while (at < until) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) return this.#endString(at);
      if (byte < 0x20) throw invalidJson();
      at = byte === BACKSLASH ? this.#escape(at + 1) : at + 1;
    }
    this.#at = at;
  }

  /** The offset after an escape sequence. */
  #escape(at: number): number {
    const bytes = this.#bytes;
    const byte = bytes[at] ?? 0;
    if (ESCAPES[byte] === 1) return at + 1;
    const isUnicode = byte === 0x75 && [1, 2, 3, 4].every((i) => isHexDigit(bytes[at + i] ?? 0));
    if (!isUnicode) throw invalidJson();
    return at + 5;
  }

  #endString(end: number): void {
    const from = this.#stringFrom;
    this.#stringFrom = -1;
    this.#at = end + 1;
    if (this.#next < FIRST_KEY) return this.#afterValue();
    if (this.#watch && this.#isRow()) this.#watch.key(from, end);
    this.#next = AFTER_KEY;
  }

  #comma(): void {
    if (this.#next !== AFTER_VALUE) throw invalidJson();
    this.#next = this.#isObject[this.#depth] === true ? KEY : VALUE;
    if (this.#depth === 1 && this.#kind === 'array') this.#element += 1;
    this.#at += 1;
  }

  #colon(): void {
    if (this.#next !== AFTER_KEY) throw invalidJson();
    this.#next = VALUE;
    this.#at += 1;
  }

  #open(isObject: boolean): void {
    this.#expectValue(isObject);
    if (this.#depth === DEEPEST) throw tooLarge(`JSON nests at most ${DEEPEST} deep`);
    if (this.#depth === 0) this.#kind = isObject ? 'object' : 'array';
    this.#depth += 1;
    this.#isObject[this.#depth] = isObject;
    this.#next = isObject ? FIRST_KEY : FIRST_VALUE;
    this.#at += 1;
    if (isObject && this.#watch && this.#isRow()) this.#watch.beginRow();
  }

  #close(isObject: boolean): void {
    const isEmpty = this.#next === (isObject ? FIRST_KEY : FIRST_VALUE);
    const fits = this.#next === AFTER_VALUE && this.#isObject[this.#depth] === isObject;
    if (this.#depth === 0 || !(isEmpty || fits)) throw invalidJson();
    if (isObject && this.#watch && this.#isRow()) this.#watch.endRow();
    this.#depth -= 1;
    this.#at += 1;
    this.#afterValue();
  }

  #bareValue(byte: number): void {
    this.#expectValue(false);
    if (byte === MINUS || isDigit(byte)) this.#number();
    else {
      const found = LITERAL.exec(this.#bytes.toString('latin1', this.#at, this.#at + 5));
      if (!found) throw invalidJson();
      this.#at += found[0].length;
    }
    this.#afterValue();
  }

  #number(): void {
    const bytes = this.#bytes;
    if (bytes[this.#at] === MINUS) this.#at += 1;
    if (bytes[this.#at] === ZERO) this.#at += 1;
    else this.#digits();
    if (bytes[this.#at] === DOT) {
      this.#at += 1;
      this.#digits();
    }
    // Bit 0x20 maps `E` to `e`.
    if (((bytes[this.#at] ?? 0) | 0x20) !== 0x65) return;
    this.#at += 1;
    if (bytes[this.#at] === MINUS || bytes[this.#at] === 0x2b) this.#at += 1;
    this.#digits();
  }

  #digits(): void {
    const bytes = this.#bytes;
    const from = this.#at;
    let at = from;
    while (isDigit(bytes[at] ?? 0)) at += 1;
    if (at === from) throw invalidJson();
    if (at - from > LONGEST_NUMBER) throw tooLarge(`a number has at most ${LONGEST_NUMBER} digits`);
    this.#at = at;
  }

  #differ(key?: string, isMissing = false): void {
    this.#differs ??= { element: this.#element, key, isMissing };
    if (this.#isStrict) throw unequalKeys(this.#differs, 'rows');
  }

  /** Throws if a value is not allowed here. */
  #expectValue(isObject: boolean): void {
    if (this.#next > FIRST_VALUE) throw invalidJson();
    if (this.#watch && !isObject && this.#kind === 'array' && this.#depth === 1) this.#differ();
  }

  #afterValue(): void {
    this.#next = this.#depth === 0 ? NOTHING : AFTER_VALUE;
  }

  /** Returns whether the innermost object is a row. */
  #isRow(): boolean {
    return this.#depth === (this.#kind === 'object' ? 1 : 2);
  }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isHexDigit(byte: number): boolean {
  return isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}
