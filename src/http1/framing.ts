import { withoutBlanks } from './head.ts';

/** Stands for the length of a chunked body. */
export const CHUNKED = -1;
/** Stands for the length if no header gives one: a request has no body, a response ends with its connection. */
export const NO_LENGTH = -2;

/**
 * The reason why two parsers could disagree about the end of a body. `both`: a length and an encoding; `encoding`: not
 * `chunked` alone; `length`: not a plain number; the plurals: a repeated header, even with the same value.
 */
export type FramingFault = 'both' | 'encoding' | 'encodings' | 'length' | 'lengths';

/** The refusal of a request: its status, and the text that the client sent, for the log. */
interface FramingRefusal {
  readonly status: 400 | 501;
  readonly what: string;
}

const INVALID_LENGTH = 'invalid "Content-Length" header';
const COMPLAINTS: Readonly<Record<Exclude<FramingFault, 'encoding'>, string>> = {
  both: '"Content-Length" and "Transfer-Encoding" headers at the same time',
  length: INVALID_LENGTH,
  lengths: INVALID_LENGTH,
  encodings: 'duplicate "Transfer-Encoding" header',
};
const CHUNKS_IN_HTTP10 = 'HTTP/1.0 request with "Transfer-Encoding" header';

/** RFC 9110, 8.6. Fifteen digits are a safe integer. */
const LENGTH = /^\d{1,15}$/;
/** `toLowerCase` would also turn the Kelvin sign into a k. */
const CHUNKED_ENCODING = /^chunked$/i;

/**
 * Determines the end of a body by the headers of its message (RFC 9112, 6.3). This is the only place that decides about
 * request smuggling, for requests on both engines and for responses of upstreams: one `Content-Length` of plain digits or
 * one `Transfer-Encoding: chunked` is accepted, and nothing else. A reader uses one object; `start` clears it.
 */
export class Framing {
  /** The last value of each header. */
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

  /** True if the message has neither header. */
  get isAbsent(): boolean {
    return this.#lengths === 0 && this.#encodings === 0;
  }

  /** The most severe fault. An HTTP/1.0 upstream may send chunks (nginx), since no proxy is between it and gw. */
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
   * Returns the refusal of a request, in nginx's words. An HTTP/1.0 client may not send chunks: a proxy in front of gw may
   * have found another end of the body.
   */
  refusalOfRequest(isHttp11: boolean): FramingRefusal | undefined {
    const { fault } = this;
    if (fault === 'encoding') return { status: 501, what: `unknown "Transfer-Encoding": "${this.encoding}"` };
    if (fault !== undefined) return { status: 400, what: COMPLAINTS[fault] };
    return this.#encodings > 0 && !isHttp11 ? { status: 400, what: CHUNKS_IN_HTTP10 } : undefined;
  }

  /** The length of the body in bytes, or `CHUNKED` or `NO_LENGTH`. Not valid if there is a fault. */
  get bodyBytes(): number {
    if (this.#encodings > 0) return CHUNKED;
    return this.#lengths > 0 ? Number(this.length) : NO_LENGTH;
  }
}

const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;
const KEEP_ALIVE = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/i;

/** Hop-by-hop headers (RFC 9110, 7.6.1) in lower case; a `Connection` header may name more. */
export const HOP_BY_HOP: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** Joins the `Connection` headers of a message; `before` is '' for the first. */
export function joinConnection(before: string, value: string): string {
  return before === '' ? value : `${before},${value}`;
}

/**
 * Tells whether the sender keeps its connection open after a message (RFC 9112, 9.3). `close` overrides everything
 * else.
 */
export function keepsAlive(connection: string, isHttp11: boolean): boolean {
  if (connection === '') return isHttp11;
  if (CLOSE.test(connection)) return false;
  return isHttp11 || KEEP_ALIVE.test(connection);
}

/** Returns the options of a `Connection` header, in lower case. */
export function connectionOptions(value: string): string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((option) => withoutBlanks(option))
    .filter((option) => option !== '');
}

/** Tells whether responses with this status end with their head (RFC 9110, 15.3.5 and 15.4.5). */
export function hasNoBody(status: number): boolean {
  return status === 204 || status === 304;
}
