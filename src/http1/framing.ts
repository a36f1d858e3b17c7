/** What stands for the length of a body that says no number. */
export const CHUNKED = -1;
/** A request has no body then, a response ends with its connection. */
export const UNSAID = -2;

/**
 * Why two parsers could disagree on where a body ends: a length and chunks, an encoding that is not `chunked` alone, a length that
 * is no plain number. `s`: the header came more than once, be it with the same value.
 */
export type FramingFault = 'both' | 'encoding' | 'encodings' | 'length' | 'lengths';

/** What a client sent that ends its request. */
export interface FramingRefusal {
  readonly status: 400 | 501;
  readonly what: string;
}

const INVALID_LENGTH = 'invalid "Content-Length" header';
const COMPLAINTS: Readonly<Record<Exclude<FramingFault, 'encoding' | 'encodings'>, string>> = {
  both: '"Content-Length" and "Transfer-Encoding" headers at the same time',
  length: INVALID_LENGTH,
  lengths: INVALID_LENGTH,
};
const CHUNKS_IN_HTTP10 = 'HTTP/1.0 request with "Transfer-Encoding" header';

/** RFC 9110, 8.6. Fifteen digits are a safe integer. */
const LENGTH = /^\d{1,15}$/;
/** Not by `toLowerCase`, to which the sign of Kelvin is a k. */
const CHUNKED_ENCODING = /^chunked$/i;

/**
 * What the headers of one message say of where its body ends (RFC 9112, 6.3). What smuggling is, is decided here: for requests on
 * both engines and for responses of upstreams. All of them take one `Content-Length` of plain digits or one
 * `Transfer-Encoding: chunked`, and nothing else. One object serves a reader; `start` clears it.
 */
export class Framing {
  /** As they came last. */
  length = '';
  encoding = '';
  #lengths = 0;
  #encodings = 0;

  start(): void {
    this.#lengths = this.#encodings = 0;
  }

  takeLength(value: string): void {
    this.#lengths++;
    this.length = value;
  }

  takeEncoding(value: string): void {
    this.#encodings++;
    this.encoding = value;
  }

  /** None of the headers came that it knows. */
  get isSilent(): boolean {
    return this.#lengths === 0 && this.#encodings === 0;
  }

  /** The gravest fault. An upstream of HTTP/1.0 may send chunks (nginx): nobody stands between it and us. */
  get fault(): FramingFault | undefined {
    const lengths = this.#lengths;
    const encodings = this.#encodings;
    if (encodings > 0) {
      if (lengths > 0) return 'both';
      if (encodings > 1) return 'encodings';
      return CHUNKED_ENCODING.test(this.encoding) ? undefined : 'encoding';
    }
    if (lengths > 1) return 'lengths';
    return lengths === 0 || LENGTH.test(this.length) ? undefined : 'length';
  }

  /**
   * Why a request is refused, in nginx's words. A client may send no chunks with HTTP/1.0: what a proxy in front of us took for
   * their end is unknown.
   */
  refusalOfRequest(isHttp11: boolean): FramingRefusal | undefined {
    const { fault } = this;
    if (fault === 'encoding' || fault === 'encodings')
      return { status: 501, what: `unknown "Transfer-Encoding": "${this.encoding}"` };
    if (fault !== undefined) return { status: 400, what: COMPLAINTS[fault] };
    return this.#encodings > 0 && !isHttp11 ? { status: 400, what: CHUNKS_IN_HTTP10 } : undefined;
  }

  /** Where there is no fault: bytes of the body, or `CHUNKED`, or `UNSAID`. */
  get bodyBytes(): number {
    if (this.#encodings > 0) return CHUNKED;
    return this.#lengths > 0 ? Number(this.length) : UNSAID;
  }
}
