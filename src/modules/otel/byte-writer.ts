/** The first number that takes more than one byte as a varint. */
const VARINT = 0x80;
const TWO_32 = 0x1_0000_0000;
const MICROSECONDS_PER_MS = 1_000;
const NANOSECONDS_PER_MICROSECOND = 1_000;

/**
 * Writes Protocol Buffers whose lengths are known into a buffer that has room for them. Loops count in a local variable,
 * because V8 would read and write a field at each turn.
 */
export class ByteWriter {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  /** Sets where the next calls write. */
  begin(bytes: Buffer, at: number): this {
    this.#bytes = bytes;
    this.#at = at;
    return this;
  }

  /** Where the next byte goes. */
  get at(): number {
    return this.#at;
  }

  byte(value: number): this {
    this.#bytes[this.#at++] = value;
    return this;
  }

  /** Writes a number below 2^31. */
  varint(value: number): this {
    const bytes = this.#bytes;
    let at = this.#at;
    let rest = value;
    for (; rest >= VARINT; rest >>>= 7) bytes[at++] = (rest & 0x7f) | VARINT;
    bytes[at++] = rest;
    this.#at = at;
    return this;
  }

  all(bytes: Uint8Array): this {
    if (bytes.length > 0) this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
    return this;
  }

  /** Leaves room for bytes that the caller writes. */
  skip(bytes: number): this {
    this.#at += bytes;
    return this;
  }

  /** Writes a text that takes so many bytes in UTF-8. Half a pair of surrogates becomes U+FFFD. */
  utf8(text: string, length: number): this {
    this.#bytes.write(text, this.#at, length);
    this.#at += length;
    return this;
  }

  /** Writes a text of ASCII. For short ones, this loop is faster than a call of Node's. */
  ascii(text: string): this {
    const bytes = this.#bytes;
    const begin = this.#at;
    for (let index = 0; index < text.length; index++) bytes[begin + index] = text.charCodeAt(index);
    this.#at = begin + text.length;
    return this;
  }

  fixed32(value: number): this {
    const bytes = this.#bytes;
    const at = this.#at;
    bytes[at] = value;
    bytes[at + 1] = value >>> 8;
    bytes[at + 2] = value >>> 16;
    bytes[at + 3] = value >>> 24;
    this.#at = at + 4;
    return this;
  }

  /** Writes a time in milliseconds as nanoseconds, which have more digits than a number can hold. */
  nanoseconds(ms: number): this {
    const microseconds = Math.round(ms * MICROSECONDS_PER_MS);
    const high = Math.floor(microseconds / TWO_32);
    const low = (microseconds - high * TWO_32) * NANOSECONDS_PER_MICROSECOND;
    const carried = Math.floor(low / TWO_32);
    return this.fixed32(low - carried * TWO_32).fixed32(high * NANOSECONDS_PER_MICROSECOND + carried);
  }
}

/** How many bytes a number below 2^31 takes. */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= VARINT; rest >>>= 7) length++;
  return length;
}
