import { isUtf8 } from 'node:buffer';
import { withoutBlanks } from '../../../http/index.ts';
import { invalidAnswer } from './fault.ts';

/** Where the body of an answer ends, when it does not say how long it is. */
export const CHUNKED = -1;
export const UNTIL_CLOSE = -2;

/** Status line and headers of a peer's answer. */
export interface AnswerHead {
  readonly status: number;
  readonly reason: string;
  /** Name, value, name, value …, as received. */
  readonly headers: readonly string[];
  /** Bytes of the body, or `CHUNKED`, or `UNTIL_CLOSE`. */
  readonly bodyBytes: number;
  /** What `Content-Length` says, also where no body follows (HEAD); -1: nothing. */
  readonly announcedBytes: number;
  /** The peer leaves its connection open. */
  readonly keepsAlive: boolean;
}

/** Length of the head at the beginning of `text`, its empty line included; -1 while it is not complete. Bare LF counts (nginx). */
export function headLength(text: string): number {
  const crlf = text.indexOf('\n\r\n');
  const before = crlf < 0 ? text : text.slice(0, crlf);
  const lf = before.indexOf('\n\n');
  if (lf >= 0) return lf + 2;
  return crlf < 0 ? -1 : crlf + 3;
}

/**
 * Reads a complete head (`text` in latin1). Throws an `UpstreamFault` for whatever two parsers could read differently: two
 * lengths, a length beside `Transfer-Encoding`, an encoding other than `chunked`, folded lines, blanks in names, NUL.
 */
export function readHead(text: string, { method }: { readonly method: string }): AnswerHead {
  const lineEnd = text.indexOf('\n');
  const { status, reason, isHttp11 } = readStatusLine(lineAt(text, 0, lineEnd));
  const reading = new HeaderReading(isHttp11);
  for (let start = lineEnd + 1; start < text.length;) {
    const end = text.indexOf('\n', start);
    const line = lineAt(text, start, end);
    if (line !== '') reading.take(line);
    start = end + 1;
  }
  const bare = method === 'HEAD' || status === 204 || status === 304 || status < 200;
  return {
    status,
    reason,
    headers: reading.headers,
    bodyBytes: bare ? 0 : reading.bodyBytes,
    announcedBytes: reading.announcedBytes,
    keepsAlive: reading.keepsAlive && (bare || reading.bodyBytes !== UNTIL_CLOSE),
  };
}

function lineAt(text: string, start: number, end: number): string {
  return text.slice(start, text.charCodeAt(end - 1) === 13 && end > start ? end - 1 : end);
}

interface StatusLine {
  readonly status: number;
  readonly reason: string;
  readonly isHttp11: boolean;
}

const STATUS_LINE = /^HTTP\/(\d+)\.(\d+) +(\d{3})(?: (.*))?$/;

function readStatusLine(line: string): StatusLine {
  if (line === 'HTTP/1.1 200 OK') return OK;
  const [, major, minor, code, reason = ''] = STATUS_LINE.exec(line) ?? [];
  const status = Number(code);
  if (major !== '1' || status < 100) throw invalidAnswer('upstream sent no valid HTTP/1.0 header');
  return { status, reason: decoded(reason), isHttp11: minor !== '0' };
}

const OK: StatusLine = { status: 200, reason: 'OK', isHttp11: true };

/** Bytes that are not ASCII are UTF-8 where they can be, so that they leave as they came. */
function decoded(text: string): string {
  if (!NOT_ASCII.test(text)) return text;
  const bytes = Buffer.from(text, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : text;
}

const NOT_ASCII = /[\x80-\xff]/;
// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const BAD_NAME = /[\0-\x20\x7f]/;

/** The header lines of one head, and what they say of where the answer ends. */
class HeaderReading {
  readonly headers: string[] = [];
  bodyBytes = UNTIL_CLOSE;
  announcedBytes = -1;
  keepsAlive: boolean;
  private lengthLine = '';

  constructor(isHttp11: boolean) {
    this.keepsAlive = isHttp11;
  }

  take(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : withoutBlanks(line, colon + 1);
    if (name === '' || BAD_NAME.test(name) || value.includes('\0')) {
      throw invalidAnswer(`upstream sent invalid header: "${printable(line)}\\x0d..."`);
    }
    this.headers.push(name, decoded(value));
    // The names that frame an answer have these lengths; no other name costs a lower-case copy.
    if (name.length === 14 || name.length === 17 || name.length === 10) this.frame(name, value);
  }

  private frame(name: string, value: string): void {
    const lowerCase = name.toLowerCase();
    if (lowerCase === 'content-length') this.takeLength(name, value);
    else if (lowerCase === 'transfer-encoding') this.takeEncoding(name, value);
    else if (lowerCase === 'connection') this.takeConnection(value.toLowerCase());
  }

  private takeLength(name: string, value: string): void {
    const line = `${name}: ${value}`;
    if (this.announcedBytes >= 0) {
      const before = printable(this.lengthLine);
      throw invalidAnswer(
        `upstream sent duplicate header line: "${printable(line)}", previous value: "${before}"`,
      );
    }
    if (!/^\d{1,15}$/.test(value))
      throw invalidAnswer(`upstream sent invalid "Content-Length" header: "${printable(line)}"`);
    if (this.bodyBytes === CHUNKED) throw bothLengths();
    this.lengthLine = line;
    this.announcedBytes = this.bodyBytes = Number(value);
  }

  private takeEncoding(name: string, value: string): void {
    if (this.bodyBytes === CHUNKED)
      throw invalidAnswer(`upstream sent duplicate header line: "${name}: ${printable(value)}"`);
    if (value.toLowerCase() !== 'chunked')
      throw invalidAnswer(`upstream sent unknown "Transfer-Encoding": "${printable(value)}"`);
    if (this.announcedBytes >= 0) throw bothLengths();
    this.bodyBytes = CHUNKED;
  }

  private takeConnection(value: string): void {
    const options = value.split(',').map((option) => option.trim());
    if (options.includes('close')) this.keepsAlive = false;
    else if (options.includes('keep-alive')) this.keepsAlive = true;
  }
}

function bothLengths(): Error {
  return invalidAnswer('upstream sent "Content-Length" and "Transfer-Encoding" headers at the same time');
}

/** As the error log prints bytes of a stranger. */
function printable(text: string): string {
  return text
    .slice(0, 100)
    .replace(/[^\x20-\x7e]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
