import type { Writable } from 'node:stream';

/** An argument. Text is sent as UTF-8. */
export type Bytes = string | Buffer;

/** A reply to a command of kv: bytes, an integer as text, nil, or a list of bytes and nils. */
export type FlatReply = Buffer | string | null | readonly (Buffer | null)[];

/** A message that no command asked for: bytes, nil, and lists of them. */
export type Push = readonly (Buffer | null | readonly (Buffer | null)[])[];

/**
 * Encodes commands as RESP2 arrays of bulk strings and sends them together. Each argument is preceded by its length in
 * bytes, so its content cannot be taken for another frame
 * (https://redis.io/docs/latest/develop/reference/protocol-spec/).
 */
export class RespWriter {
  #text = '';
  /** ASCII text is copied to the socket as it is, which is cheaper than encoding it as UTF-8. */
  #isAscii = true;
  readonly #pieces: Bytes[] = [];

  /** Adds a command. `name` is a constant of gw; the arguments may come from requests. */
  add(name: string, args: readonly Bytes[]): void {
    let text = `*${args.length + 1}\r\n$${name.length}\r\n${name}\r\n`;
    for (const arg of args) {
      if (typeof arg === 'string') {
        const size = Buffer.byteLength(arg);
        if (size !== arg.length) this.#isAscii = false;
        text += `$${size}\r\n${arg}\r\n`;
      } else {
        this.#pieces.push(`${this.#text}${text}$${arg.length}\r\n`, arg);
        this.#text = '';
        text = '\r\n';
      }
    }
    this.#text += text;
  }

  /** Writes all commands added so far to the socket. */
  flush(socket: Writable): void {
    // Every command ends with text: if there is no text, there is no command.
    if (this.#text === '') return;
    const encoding = this.#isAscii ? 'latin1' : 'utf8';
    if (this.#pieces.length === 0) socket.write(this.#text, encoding);
    else {
      socket.cork();
      for (const piece of this.#pieces) socket.write(piece, encoding);
      socket.write(this.#text, encoding);
      socket.uncork();
    }
    this.clear();
  }

  clear(): void {
    this.#text = '';
    this.#isAscii = true;
    this.#pieces.length = 0;
  }
}

/** An error reply of the store, without its `-`. */
export class ReplyError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** Maximum length of an error, status or number. */
export const MAX_LINE_BYTES = 4_096;
/** Strings have at most 512 MB, so a longer number is not a length. */
export const MAX_LENGTH_DIGITS = 10;
/** Bytes of the protocol. */
export const CARRIAGE_RETURN = 13;
export const LINE_FEED = 10;
export const MINUS = 45;
export const ZERO = 48;
const PUSH = 0x3e; // >
/** Maximum depth of nested lists; replies and messages of a store are less deep. */
export const MOST_DEPTH = 8;
/** The fault of bytes that are not RESP. */
export const MALFORMED = 'a reply that is not RESP';

const NO_BYTES: Buffer = Buffer.alloc(0);

/** The reply is incomplete or not RESP. */
const NONE = Symbol('none');
type Element = FlatReply | ReplyError | typeof NONE;

interface ReaderOptions {
  /** Receives messages of RESP3. If present, RESP3 maps are read, too; their contents are dropped. */
  readonly pushed?: ((push: Push) => void) | undefined;
}

/** The fault of a reply that exceeds a reader's limit. */
export const replyTooLarge = (maxReplyBytes: number): string => `a reply exceeds ${maxReplyBytes} bytes`;

/**
 * Decodes the replies of RESP2 from the bytes of a connection, in order: strings and statuses as bytes, integers as
 * text, nil, errors, and arrays of strings and nil. The commands of kv have no other replies
 * (https://redis.io/docs/latest/develop/reference/protocol-spec/).
 */
export class RespReader {
  readonly #maxReplyBytes: number;
  readonly #onReply: (reply: FlatReply | ReplyError) => void;
  readonly #onPush: ((push: Push) => void) | undefined;
  /** Pieces of an incomplete reply. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Number of bytes below which decoding cannot succeed. */
  #neededBytes = 0;
  #bytes = NO_BYTES;
  /** The offset of the next element. */
  #at = 0;
  #depth = 0;
  #fault: string | undefined;

  constructor(
    maxReplyBytes: number,
    onReply: (reply: FlatReply | ReplyError) => void,
    { pushed }: ReaderOptions = {},
  ) {
    this.#maxReplyBytes = maxReplyBytes;
    this.#onReply = onReply;
    this.#onPush = pushed;
  }

  /**
   * Decodes a chunk. Returns the fault if the bytes are invalid; the connection cannot be used after that. The fault
   * never quotes a reply.
   */
  read(chunk: Buffer): string | undefined {
    if (this.#fault !== undefined || !this.#gather(chunk)) return this.#fault;
    let start = 0;
    while (start < this.#bytes.length) {
      this.#at = start;
      this.#depth = 0;
      const isPush = this.#onPush !== undefined && this.#bytes[start] === PUSH;
      const reply = isPush ? this.#aggregate(1) : this.#element();
      if (reply === NONE) break;
      start = this.#at;
      if (isPush) this.#onPush?.(reply as Push);
      else this.#onReply(reply as FlatReply | ReplyError);
    }
    return this.#fault ?? this.#hold(start);
  }

  /** Adds the chunk to the pieces; false if there are still too few bytes. */
  #gather(chunk: Buffer): boolean {
    this.#bytes = chunk;
    if (this.#heldBytes === 0) return true;
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes < this.#neededBytes) return false;
    this.#bytes = Buffer.concat(this.#held, this.#heldBytes);
    return true;
  }

  #hold(start: number): string | undefined {
    this.#heldBytes = this.#bytes.length - start;
    this.#neededBytes -= start;
    this.#held = this.#heldBytes > 0 ? [this.#bytes.subarray(start)] : [];
    this.#bytes = NO_BYTES;
    // The pieces never have more bytes than needed plus one chunk.
    const waitingBytes = this.#heldBytes > 0 ? Math.max(this.#heldBytes, this.#neededBytes) : 0;
    if (waitingBytes > this.#maxReplyBytes) {
      this.#fault = replyTooLarge(this.#maxReplyBytes);
      this.#held = [];
    }
    return this.#fault;
  }

  #element(): Element {
    switch (this.#bytes[this.#at]) {
      case 0x24: // $
        return this.#string();
      case 0x3a: // :
        return this.#integer();
      case 0x2b: // +
        return this.#line() ?? NONE;
      case 0x2d: // -
        return this.#error();
      case 0x2a: // *
        return this.#onPush ? (this.#aggregate(1) as Element) : this.#array();
      case undefined:
        return this.#wait(this.#at + 1);
      case 0x25: // %
      case 0x5f: // _
        return this.#onPush ? this.#version3() : this.#malformed();
      default:
        return this.#malformed();
    }
  }

  /** Reads nil, or a map, whose content is dropped. */
  #version3(): null | typeof NONE {
    if (this.#bytes[this.#at] === 0x5f) return this.#line() ? null : NONE;
    return this.#aggregate(2) === NONE ? NONE : null;
  }

  /** Reads a list, whose elements may be lists. It has `each` times as many elements as its number says. */
  #aggregate(each: 1 | 2): (Buffer | null | readonly (Buffer | null)[])[] | typeof NONE {
    const length = this.#length();
    if (length === undefined) return NONE;
    if (++this.#depth > MOST_DEPTH) return this.#malformed();
    const items: (Buffer | null | readonly (Buffer | null)[])[] = [];
    while (items.length < length * each) {
      const item = this.#element();
      if (item === NONE) return NONE;
      // Numbers and errors are in maps only.
      items.push(typeof item === 'string' || item instanceof ReplyError ? null : item);
    }
    this.#depth--;
    return items;
  }

  #string(): Buffer | null | typeof NONE {
    const length = this.#length();
    if (length === undefined) return NONE;
    if (length < 0) return null;
    const start = this.#at;
    const end = start + length;
    if (end + 2 > this.#bytes.length) return this.#wait(end + 2);
    if (this.#bytes[end] !== CARRIAGE_RETURN || this.#bytes[end + 1] !== LINE_FEED) return this.#malformed();
    this.#at = end + 2;
    return this.#bytes.subarray(start, end);
  }

  #array(): Element {
    const length = this.#length();
    if (length === undefined) return NONE;
    if (length < 0) return null;
    const items: (Buffer | null)[] = [];
    while (items.length < length) {
      const isString = this.#at >= this.#bytes.length || this.#bytes[this.#at] === 0x24;
      const item = isString ? this.#element() : this.#malformed();
      if (item !== null && !(item instanceof Buffer)) return NONE;
      items.push(item);
    }
    return items;
  }

  #integer(): string | typeof NONE {
    const digits = this.#line()?.toString('latin1');
    if (digits === undefined) return NONE;
    return /^-?\d{1,19}$/.test(digits) ? digits : this.#malformed();
  }

  #error(): ReplyError | typeof NONE {
    const line = this.#line();
    return line ? new ReplyError(line.toString()) : NONE;
  }

  #line(): Buffer | undefined {
    const start = this.#at + 1;
    const end = this.#lineEnd();
    return end < 0 ? undefined : this.#bytes.subarray(start, end);
  }

  /** Reads the number after the type; -1 for nil. */
  #length(): number | undefined {
    const start = this.#at + 1;
    const end = this.#lineEnd();
    if (end < 0) return undefined;
    const bytes = this.#bytes;
    if (end === start + 2 && bytes[start] === MINUS && bytes[start + 1] === ZERO + 1) return -1;
    let length = 0;
    for (let at = start; at < end; at++) {
      const digit = (bytes[at] as number) - ZERO;
      if (digit < 0 || digit > 9) length = Number.NaN;
      length = length * 10 + digit;
    }
    if (end > start && end - start <= MAX_LENGTH_DIGITS && !Number.isNaN(length)) return length;
    this.#malformed();
    return undefined;
  }

  /** Finds the end of the line that begins here and moves after it; -1 if the end has not arrived. */
  #lineEnd(): number {
    const bytes = this.#bytes;
    let end = this.#at + 1;
    while (end < bytes.length && bytes[end] !== CARRIAGE_RETURN) end++;
    if (end - this.#at > MAX_LINE_BYTES) this.#malformed();
    else if (end + 2 > bytes.length) this.#wait(bytes.length + 1);
    else if (bytes[end + 1] !== LINE_FEED) this.#malformed();
    else {
      this.#at = end + 2;
      return end;
    }
    return -1;
  }

  #wait(neededBytes: number): typeof NONE {
    this.#neededBytes = neededBytes;
    return NONE;
  }

  #malformed(): typeof NONE {
    this.#fault ??= MALFORMED;
    return NONE;
  }
}
