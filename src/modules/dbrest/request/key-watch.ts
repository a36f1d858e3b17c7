import { tooLarge } from '../fault/index.ts';

/** Tables and composite types of PostgreSQL have at most 1,600 columns. */
const MOST_KEYS = 1_600;
/** 63 bytes, each of them written as an escape. */
const LONGEST_KEY_BYTES = 63 * 6;

/** Names of the members of objects: those of the first one, which all others must have too, in any order. */
export class KeyWatch {
  readonly #bytes: Buffer;
  readonly #differ: () => void;
  readonly #names = new Set<string>();
  /** Where each key of the first object lies: begin, end, begin, end … */
  readonly #places: number[] = [];
  #isFirst = true;
  /** How many keys of this object are those of the first one, in the same order. */
  #alike = 0;
  /** All names of this object once it differs. */
  #own: Set<string> | undefined;

  constructor(bytes: Buffer, differ: () => void) {
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

  /** What stands between the quotes, still with its escapes. */
  key(from: number, end: number): void {
    if (this.#isFirst) {
      this.#names.add(this.#decode(from, end));
      this.#places.push(from, end);
      // Not names: a name that comes again and again takes as much room as others.
      if (this.#places.length > 2 * MOST_KEYS) throw tooLarge(`a row has at most ${MOST_KEYS} columns`);
    } else if (!this.#own && this.#isAlike(from, end)) this.#alike += 1;
    else this.#addOwn(this.#decode(from, end));
  }

  /** Tells of an object that has other names than the first one. */
  endRow(): void {
    if (!this.#isFirst && (this.#own || this.#alike * 2 !== this.#places.length)) {
      const own = this.#differing();
      if (own.size !== this.#names.size) this.#differ();
    }
    this.#isFirst = false;
  }

  /** Only names of the first object are kept: another has no room to fill. */
  #addOwn(name: string): void {
    const own = this.#differing();
    if (this.#names.has(name)) own.add(name);
    else this.#differ();
  }

  #isAlike(from: number, end: number): boolean {
    const first = this.#places[this.#alike * 2];
    const firstEnd = this.#places[this.#alike * 2 + 1];
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
        this.#own.add(this.#decode(this.#places[i] as number, this.#places[i + 1] as number));
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
