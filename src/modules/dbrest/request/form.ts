import { invalidBody, tooLarge } from '../fault/index.ts';
import type { Turn } from '../event-loop.ts';

/** A form as a JSON object whose values are strings. */
interface FormRow {
  readonly json: readonly Buffer[];
  readonly names: readonly string[];
}

const QUOTE = 0x22;
const PERCENT = 0x25;
const AMPERSAND = 0x26;
const PLUS = 0x2b;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;
const BLANK = 0x20;
/** Bytes parsed between two yields to the event loop. */
const PIECE_BYTES = 65_536;
/** The length of `\u0000`. */
const LONGEST_ESCAPE = 6;
const MOST_FIELDS = 1_600;
/** A name of 63 bytes, each of them percent-encoded. */
const LONGEST_NAME_BYTES = 63 * 3;

/** Reads an `application/x-www-form-urlencoded` body. The database rejects invalid UTF-8. Throws PGRST102. */
export async function readForm(bytes: Buffer, turn: Turn): Promise<FormRow> {
  const scan = new FormScan(bytes);
  while (!scan.advance(PIECE_BYTES)) await turn();
  return scan.finish();
}

class FormScan {
  readonly #bytes: Buffer;
  readonly #json: Buffer[] = [];
  readonly #names = new Set<string>();
  #at = 0;
  #fields = 0;
  #isInValue = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Scans about `count` bytes, at least one. Returns true at the end of the form. */
  advance(count: number): boolean {
    const until = Math.min(this.#at + count, this.#bytes.length);
    while (this.#at < until) {
      if (this.#isInValue) this.#goOnInValue(until);
      else if (this.#bytes[this.#at] === AMPERSAND) this.#at += 1;
      else this.#beginField();
    }
    return this.#at >= this.#bytes.length;
  }

  finish(): FormRow {
    if (this.#isInValue) this.#endValue();
    this.#json.push(Buffer.from(this.#fields === 0 ? '{}' : '}'));
    return { json: this.#json, names: [...this.#names] };
  }

  #beginField(): void {
    // Fields are counted, not names: a repeated name needs as much memory as a new one.
    if (this.#fields === MOST_FIELDS) throw tooLarge(`a row has at most ${MOST_FIELDS} columns`);
    const end = this.#nameEnd();
    const name = jsonText(this.#bytes.subarray(this.#at, end));
    this.#json.push(Buffer.from(this.#fields === 0 ? '{"' : ',"'), name, Buffer.from('":"'));
    this.#names.add(JSON.parse(`"${name.toString()}"`) as string);
    this.#fields += 1;
    this.#isInValue = true;
    this.#at = this.#bytes[end] === EQUALS ? end + 1 : end;
  }

  #nameEnd(): number {
    for (let at = this.#at; at - this.#at <= LONGEST_NAME_BYTES; at += 1) {
      const byte = this.#bytes[at];
      if (byte === undefined || byte === EQUALS || byte === AMPERSAND) return at;
    }
    throw tooLarge('a name has at most 63 bytes');
  }

  #goOnInValue(until: number): void {
    const bytes = this.#bytes;
    const found = bytes.subarray(this.#at, until).indexOf(AMPERSAND);
    const end = found < 0 ? escapeEnd(bytes, until) : this.#at + found;
    this.#json.push(jsonText(bytes.subarray(this.#at, end)));
    this.#at = end;
    if (found >= 0) this.#endValue();
  }

  #endValue(): void {
    this.#json.push(Buffer.from('"'));
    this.#isInValue = false;
  }
}

/** Moves a cut behind the percent escape that it would split. It moves forward, so that every piece makes progress. */
function escapeEnd(bytes: Buffer, cut: number): number {
  if (bytes[cut - 1] === PERCENT) return Math.min(cut + 2, bytes.length);
  if (bytes[cut - 2] === PERCENT) return Math.min(cut + 1, bytes.length);
  return cut;
}

/** Converts a piece of a name or value to the inside of a JSON string. */
function jsonText(bytes: Buffer): Buffer {
  const text = Buffer.allocUnsafe(bytes.length * LONGEST_ESCAPE);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    let byte = bytes[at] as number;
    if (byte === PLUS) byte = BLANK;
    else if (byte === PERCENT) {
      byte = escapedByte(bytes, at);
      at += 2;
    }
    if (byte < BLANK) length += text.write(`\\u${byte.toString(16).padStart(4, '0')}`, length, 'latin1');
    else {
      if (byte === QUOTE || byte === BACKSLASH) text[length++] = BACKSLASH;
      text[length++] = byte;
    }
  }
  // A copy releases the memory that was reserved for escapes.
  return Buffer.from(text.subarray(0, length));
}

function escapedByte(bytes: Buffer, at: number): number {
  const digits = bytes.toString('latin1', at + 1, at + 3);
  if (!/^[0-9a-f]{2}$/i.test(digits)) throw invalidBody('Empty or invalid form');
  return Number.parseInt(digits, 16);
}
