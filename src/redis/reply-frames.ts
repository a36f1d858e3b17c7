import {
  CARRIAGE_RETURN,
  LINE_FEED,
  MALFORMED,
  MAX_LENGTH_DIGITS,
  MAX_LINE_BYTES,
  MINUS,
  MOST_DEPTH,
  replyTooLarge,
  ZERO,
} from './resp.ts';

const LIST = 0x2a; // *
const STRING = 0x24; // $
const TYPES: ReadonlySet<number> = new Set(Buffer.from('*$:+-'));
/** The shortest item of a list: a type and a line end. */
const MIN_ITEM_BYTES = 3;
const LINE_END_BYTES = 2;

/**
 * Finds the beginnings and ends of RESP2 replies without decoding them. The bytes pass it before ioredis, whose decoder
 * allocates lists of any length that a reply claims (30 bytes can take 500 MB), accepts replies of any size, and throws
 * for some unexpected replies (https://redis.io/docs/latest/develop/reference/protocol-spec/).
 */
export class ReplyFrames {
  readonly #maxBytes: number;
  /** Size of the reply that is arriving. */
  #bytes = 0;
  /** Number of items still to come in each of the open lists, the outermost first. */
  readonly #missing: number[] = [];
  #allMissing = 0;
  /** The type of the line that is arriving; 0 between two lines. */
  #type = 0;
  /** The length that the line states, as far as it has arrived. */
  #length = 0;
  #isNegative = false;
  #lineBytes = 0;
  #isAfterReturn = false;
  /** Number of bytes of a string still to come, with its line end. */
  #stringBytes = 0;
  #fault: string | undefined;

  constructor(maxReplyBytes: number) {
    this.#maxBytes = maxReplyBytes;
  }

  /** Part of a reply has arrived. */
  get isWithinReply(): boolean {
    return this.#bytes > 0;
  }

  /** Returns the number of replies that end in a chunk, or the fault because of which it must not be decoded. */
  follow(chunk: Buffer): number | string {
    let replies = 0;
    for (let at = 0; at < chunk.length && this.#fault === undefined;) {
      const missing = this.#stringBytes;
      const passed = missing > 0 ? Math.min(missing, chunk.length - at) : 1;
      this.#bytes += passed;
      if (missing > 0) this.#stringBytes -= passed;
      const isEnd = missing > 0 ? passed === missing : this.#pass(chunk[at] as number);
      if (isEnd && this.#isReplyEnd()) replies += 1;
      at += passed;
    }
    return this.#fault ?? replies;
  }

  /** Passes a byte of a line; true if an element ends with it. */
  #pass(byte: number): boolean {
    if (this.#type === 0) return this.#begin(byte);
    if (this.#isAfterReturn) return byte === LINE_FEED ? this.#endLine() : this.#refuse();
    if (byte === CARRIAGE_RETURN) this.#isAfterReturn = true;
    else if (++this.#lineBytes > MAX_LINE_BYTES) this.#refuse();
    else if (this.#type === LIST || this.#type === STRING) this.#addDigit(byte);
    return false;
  }

  #begin(type: number): false {
    if (!TYPES.has(type)) return this.#refuse();
    this.#type = type;
    this.#length = this.#lineBytes = 0;
    this.#isNegative = this.#isAfterReturn = false;
    return false;
  }

  #addDigit(byte: number): void {
    const digit = byte - ZERO;
    if (byte === MINUS && this.#lineBytes === 1) this.#isNegative = true;
    else if (digit < 0 || digit > 9 || this.#lineBytes > MAX_LENGTH_DIGITS) this.#refuse();
    else this.#length = this.#length * 10 + digit;
  }

  /** Ends a line; true if the element ends with it. */
  #endLine(): boolean {
    const type = this.#type;
    const length = this.#length;
    this.#type = 0;
    const isSized = type === LIST || type === STRING;
    if (isSized && (this.#lineBytes === 0 || (this.#isNegative && length !== 1))) return this.#refuse();
    const isOpen = isSized && !this.#isNegative && (type === STRING || length > 0);
    if (isOpen && type === STRING) this.#stringBytes = length + LINE_END_BYTES;
    if (isOpen && type === LIST) {
      this.#allMissing += length;
      if (this.#missing.push(length) > MOST_DEPTH) return this.#refuse();
    }
    const leastBytes = this.#bytes + this.#stringBytes + this.#allMissing * MIN_ITEM_BYTES;
    if (leastBytes > this.#maxBytes) return this.#refuse(replyTooLarge(this.#maxBytes));
    return !isOpen;
  }

  /** Ends an element and the lists that end with it. True if the reply ends. */
  #isReplyEnd(): boolean {
    for (let depth = this.#missing.length; depth > 0; depth -= 1) {
      this.#allMissing -= 1;
      const left = (this.#missing[depth - 1] as number) - 1;
      this.#missing[depth - 1] = left;
      if (left > 0) return false;
      this.#missing.pop();
    }
    this.#bytes = 0;
    return true;
  }

  #refuse(fault = MALFORMED): false {
    this.#fault = fault;
    return false;
  }
}
