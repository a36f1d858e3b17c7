import { isUtf8 } from 'node:buffer';
import { hasNoBody } from '../http/index.ts';
import {
  CHUNKED,
  Framing,
  joinConnection,
  keepsAlive,
  lineOf,
  type LineReceiver,
  readHeaderLines,
  readStatusLine,
  NO_LENGTH,
} from '../http1/index.ts';
import { invalidResponse, type UpstreamFault } from './fault.ts';

/** Status line and headers of an upstream's response. */
export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  /** Name, value, name, value …, as received. */
  readonly headers: readonly string[];
  /** All bytes are printable ASCII, blanks or line ends: every value may be sent on as it is. */
  readonly isPlain: boolean;
  /** Size of the body in bytes, or `CHUNKED`, or `NO_LENGTH` if the body ends with the connection. */
  readonly bodyBytes: number;
  /** The value of `Content-Length`, even if there is no body (HEAD); -1 without one. */
  readonly announcedBytes: number;
  /** The peer keeps the connection open. */
  readonly keepsAlive: boolean;
  /** Trailers may follow a body with a length, too, as in HTTP/2; otherwise only one in chunks. */
  readonly mayHaveTrailers?: boolean;
}

/** Returns the protocol that a 101 changes to; '' if it does not name exactly one. */
export function upgradeOf({ headers }: Pick<ResponseHead, 'headers'>): string {
  const named = headers.filter(
    (_, index) => index % 2 === 1 && headers[index - 1]?.toLowerCase() === 'upgrade',
  );
  return named.length === 1 ? (named[0] as string) : '';
}

/** Parses a complete head (`text` in latin1). Throws an `UpstreamFault` if two parsers could read it differently. */
export function readHead(text: string, { method }: { readonly method: string }): ResponseHead {
  const lineEnd = text.indexOf('\n');
  const line = readStatusLine(lineOf(text, 0, lineEnd));
  if (!line) throw invalidResponse('upstream sent no valid HTTP/1.0 header');
  const { status, reason, isHttp11 } = line;
  const isPlain = !NOT_PLAIN.test(text);
  const reading = new HeaderReading(isPlain);
  const invalid = readHeaderLines(text, lineEnd + 1, reading);
  if (invalid !== undefined) {
    throw invalidHeader(invalid);
  }
  const { bodyBytes } = reading.framing;
  const isBare = method === 'HEAD' || hasNoBody(status) || status < 200;
  return {
    status,
    reason: isPlain ? reason : decoded(reason),
    headers: reading.headers,
    isPlain,
    bodyBytes: isBare ? 0 : bodyBytes,
    announcedBytes: Math.max(bodyBytes, -1),
    keepsAlive: (isBare || bodyBytes !== NO_LENGTH) && keepsAlive(reading.connection, isHttp11),
  };
}

/** A CGI response ends with its connection unless it has a length: a program cannot send chunks (RFC 3875, 6.3). */
const untilEnd = (bytes: number): number => (bytes === CHUNKED ? NO_LENGTH : bytes);

/**
 * Parses the head of a CGI response (RFC 3875, 6). It has no status line; the header `Status` gives the status. Without
 * it, the status is 302 if there is a `Location`, otherwise 200.
 */
export function readCgiHead(text: string, { method }: { readonly method: string }): ResponseHead {
  const isPlain = !NOT_PLAIN.test(text);
  const reading = new HeaderReading(isPlain);
  const invalid = readHeaderLines(text, 0, reading);
  if (invalid !== undefined) throw invalidHeader(invalid);
  const { status, reason } = cgiStatus(reading.headers);
  const bodyBytes = untilEnd(reading.framing.bodyBytes);
  const isBare = method === 'HEAD' || hasNoBody(status);
  return {
    status,
    reason: isPlain ? reason : decoded(reason),
    headers: reading.headers,
    isPlain,
    bodyBytes: isBare ? 0 : bodyBytes,
    announcedBytes: Math.max(bodyBytes, -1),
    keepsAlive: false,
  };
}

/** Parses the head of a response with or without a status line, as uwsgi and SCGI allow. */
export function readCgiOrHttpHead(text: string, caller: { readonly method: string }): ResponseHead {
  const isHttp = readStatusLine(lineOf(text, 0, text.indexOf('\n'))) !== undefined;
  if (!isHttp) return readCgiHead(text, caller);
  const head = readHead(text, caller);
  return { ...head, bodyBytes: untilEnd(head.bodyBytes), keepsAlive: false };
}

const invalidHeader = (line: string): UpstreamFault =>
  invalidResponse(`upstream sent invalid header: "${printable(line)}\\x0d..."`);

function cgiStatus(headers: readonly string[]): { readonly status: number; readonly reason: string } {
  const text = valueOf(headers, 'status');
  if (text === undefined) {
    const isElsewhere = valueOf(headers, 'location') !== undefined;
    return isElsewhere ? { status: 302, reason: 'Moved Temporarily' } : { status: 200, reason: 'OK' };
  }
  const [, digits, reason = ''] = /^([1-9]\d\d)(?: +(.*))?$/.exec(text) ?? [];
  if (digits === undefined) throw invalidResponse(`upstream sent invalid status "${printable(text)}"`);
  return { status: Number(digits), reason };
}

function valueOf(headers: readonly string[], lowerCaseName: string): string | undefined {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === lowerCaseName);
  return at < 0 ? undefined : headers[at + 1];
}

/** Decodes bytes that are valid UTF-8, so that they are sent on unchanged. */
function decoded(text: string): string {
  if (!NOT_ASCII.test(text)) return text;
  const bytes = Buffer.from(text, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : text;
}

const NOT_PLAIN = /[^\t\n\r\x20-\x7e]|\r(?!\n)/;
const NOT_ASCII = /[\x80-\xff]/;

/** Collects the header lines of one head, and what they determine about the body and the connection. */
class HeaderReading implements LineReceiver {
  readonly takesBareNames = true;
  readonly headers: string[] = [];
  readonly framing = new Framing();
  connection = '';
  #lengthLine = '';
  readonly #isPlain: boolean;

  constructor(isPlain: boolean) {
    this.#isPlain = isPlain;
  }

  field(name: string, value: string): boolean {
    // Other control bytes only cost the response this one header.
    if (!this.#isPlain && value.includes('\0')) return false;
    this.headers.push(name, this.#isPlain ? value : decoded(value));
    // The headers that frame a response have names of these lengths; other names need not be lower-cased.
    if (name.length === 14 || name.length === 17 || name.length === 10) this.#frame(name, value);
    return true;
  }

  #frame(name: string, value: string): void {
    const lowerCase = name.toLowerCase();
    if (lowerCase === 'connection') this.connection = joinConnection(this.connection, value);
    else if (lowerCase === 'content-length') this.#takeLength(`${name}: ${value}`, value);
    else if (lowerCase === 'transfer-encoding') this.#takeEncoding(`${name}: ${value}`, value);
  }

  #takeLength(line: string, value: string): void {
    this.framing.takeLength(value);
    this.#judge(line);
    this.#lengthLine = line;
  }

  #takeEncoding(line: string, value: string): void {
    this.framing.takeEncoding(value);
    this.#judge(line);
  }

  /** Checks the framing after each line, so that the log shows the first one that is wrong. */
  #judge(line: string): void {
    const { fault } = this.framing;
    if (!fault) return;
    const said = `"${printable(line)}"`;
    const messages: Readonly<Record<typeof fault, string>> = {
      both: '"Content-Length" and "Transfer-Encoding" headers at the same time',
      encoding: `unknown "Transfer-Encoding": "${printable(this.framing.encoding)}"`,
      encodings: `duplicate header line: ${said}`,
      length: `invalid "Content-Length" header: ${said}`,
      lengths: `duplicate header line: ${said}, previous value: "${printable(this.#lengthLine)}"`,
    };
    throw invalidResponse(`upstream sent ${messages[fault]}`);
  }
}

/** Escapes foreign bytes for the error log. */
function printable(text: string): string {
  return text
    .slice(0, 100)
    .replace(/[^\x20-\x7e]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
