import type { PortHandler } from '../../../compile/index.ts';
import {
  isValidQuery,
  normalizePath,
  parseHost,
  type RequestFacts,
  withoutBlanks,
} from '../../../http/index.ts';
import { HeadScan, IN_HEADERS, IN_LINE } from '../head-scan.ts';

/** The first line of a request. */
interface RequestLine {
  readonly method: string;
  /** As received: `$request_uri`. */
  readonly target: string;
  /** `path?query` of the target, without scheme and host. */
  readonly pathAndQuery: string;
  /** Host and port of a target in absolute form; '' in origin form. */
  readonly authority: string;
  readonly version: '0.9' | '1.0' | '1.1';
}

/** Version numbers as nginx takes them: one digit before the dot, two behind it at most. */
const LINE = /^(\S+) +(\S+)(?: +HTTP\/([1-9])\.(\d{1,2}) *)?$/;
const METHOD = /^[A-Z_-]+$/;
/** RFC 9112, 3.2.2. nginx takes every scheme. */
const ABSOLUTE = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?#]+)(.*)$/;

/**
 * Reads a request line, or gives the status that refuses it. As nginx: blanks may repeat, a line without a version is
 * HTTP/0.9, and neither `*` nor `host:port` is a target.
 */
function readRequestLine(line: string): RequestLine | number {
  const [, method = '', target = '', major, minor] = LINE.exec(line) ?? [];
  if (!METHOD.test(method)) return 400;
  if (major !== undefined && major !== '1') return 505;
  if (major === undefined && method !== 'GET') return 400;
  const version = major === undefined ? '0.9' : minor === '0' ? '1.0' : '1.1';
  if (target.startsWith('/')) return { method, target, pathAndQuery: target, authority: '', version };
  const [, authority, rest = ''] = ABSOLUTE.exec(target) ?? [];
  if (authority === undefined) return 400;
  return { method, target, pathAndQuery: rest.startsWith('/') ? rest : `/${rest}`, authority, version };
}

/** Whether what came of a line so far can still become a request line: a TLS hello or a binary protocol ends here. */
function mayBeRequestLine(start: string): boolean {
  return /^[A-Z_-]*(?: |$)/.test(start);
}

const LF = 10;
const CR = 13;
/** More of them before a request is no robustness any more. */
const MOST_BLANK_LINES = 8;

/** How far a connection has looked at the head of its next request, so that no byte is looked at again with each packet. */
export class HeadProgress {
  /** The first line, once it is there and good, and where it ends; -1 before. */
  line: RequestLine | undefined = undefined;
  lineEnd = -1;
  /** Bytes in which what is looked for does not stand. */
  searched = 0;
  /** Where the last line begins, the one that is still coming. */
  lastLine = 0;
  private blankLines = 0;

  get hasTooManyBlankLines(): boolean {
    return this.blankLines > MOST_BLANK_LINES;
  }

  /** The next request is another one. */
  reset(): void {
    this.line = undefined;
    this.lineEnd = -1;
    this.searched = this.lastLine = this.blankLines = 0;
  }

  /** A robust server ignores empty lines before the request line (RFC 9112, 2.2): they are taken away as they come. */
  withoutBlankLines(bytes: Buffer): Buffer {
    let start = 0;
    for (let size = blankLineAt(bytes, 0); size > 0; size = blankLineAt(bytes, start)) {
      if (++this.blankLines > MOST_BLANK_LINES) break;
      start += size;
    }
    if (start === 0) return bytes;
    this.searched = 0;
    return bytes.subarray(start);
  }

  /** Finds the end of the first line; -1 while it did not come. */
  findLineEnd(bytes: Buffer): number {
    if (this.lineEnd < 0) {
      this.lineEnd = bytes.indexOf(LF, this.searched);
      this.searched = this.lastLine = this.lineEnd < 0 ? bytes.length : this.lineEnd + 1;
    }
    return this.lineEnd;
  }

  /** Finds what stands behind the empty line that ends the head; -1 while that did not come. */
  findEnd(bytes: Buffer): number {
    // The empty line may have begun with what was looked at before.
    const from = Math.max(this.lineEnd, this.searched - 2);
    const plain = bytes.indexOf('\n\r\n', from);
    const bare = (plain < 0 ? bytes : bytes.subarray(0, plain)).indexOf('\n\n', from);
    if (bare >= 0) return bare + 2;
    if (plain >= 0) return plain + 3;
    this.lastLine = Math.max(
      this.lastLine,
      this.searched + bytes.subarray(this.searched).lastIndexOf(LF) + 1,
    );
    this.searched = bytes.length;
    return -1;
  }
}

/** Length of the empty line at a place; 0 where there is none. */
function blankLineAt(bytes: Buffer, at: number): number {
  if (bytes[at] === LF) return 1;
  return bytes[at] === CR && bytes[at + 1] === LF ? 2 : 0;
}

/** The head of a request, and what follows from it. */
export interface Head {
  readonly facts: Omit<RequestFacts, 'serial' | 'port' | 'connection' | 'headers'>;
  readonly headers: readonly string[];
  /** Bytes of it on the wire. */
  readonly bytes: number;
  /** The status that refuses it; 0: none. */
  readonly refusal: number;
  /** Why, in nginx's words. */
  readonly complaint: string;
  readonly isHttp09: boolean;
  readonly keepsAlive: boolean;
  readonly expectsContinue: boolean;
}

/** RFC 9110, 5.1 is narrower; nginx drops the names that are not plain, and so do we. Blanks and controls are refused. */
const HEADER_NAME = /^[\x21-\x39\x3b-\x7e\x80-\xff]+$/;
const EIGHT_BIT = /[\x80-\xff]/;
const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;
const KEEP_ALIVE = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/i;

/**
 * Reads request heads from bytes, as nginx does: lines end with CRLF or a bare LF. Whatever two parsers could read
 * differently (a bare CR, a folded line, a line without a colon, a blank before the colon) is refused.
 */
export class HeadReader {
  private readonly scan: HeadScan;
  private readonly port: PortHandler;
  private connection = '';
  private expect = '';

  constructor(port: PortHandler) {
    this.port = port;
    this.scan = new HeadScan(port, Infinity);
  }

  /** The head at the begin of the bytes; `undefined` while it is not complete. `seen` goes on with the same head. */
  read(bytes: Buffer, seen = new HeadProgress()): Head | undefined {
    if (seen.hasTooManyBlankLines) return this.refused(bytes, 400);
    const lineEnd = seen.findLineEnd(bytes);
    if (lineEnd < 0) return this.readStart(bytes);
    if (lineEnd > this.port.head.lineBytes) return this.refused(bytes, 414);
    const line = seen.line ?? readRequestLine(withoutCr(bytes.toString('latin1', 0, lineEnd)));
    if (typeof line === 'number') return this.refused(bytes, line);
    if (line.version === '0.9') return this.readHead(line, bytes, { from: lineEnd + 1, end: lineEnd + 1 });
    seen.line = line;
    const end = seen.findEnd(bytes);
    const size = (end < 0 ? bytes.length : end) - lineEnd - 1;
    if (size > this.port.head.bytes) return this.refused(bytes, 494, line);
    if (end >= 0) return this.readHead(line, bytes, { from: lineEnd + 1, end });
    const isTooLong = bytes.length - seen.lastLine > this.port.head.lineBytes;
    return isTooLong ? this.refused(bytes, 494, line) : undefined;
  }

  /** What is known of a head that never came to its end. */
  unfinished(bytes: Buffer, { line }: HeadProgress): Head {
    return this.refused(bytes, 408, line);
  }

  /** A head whose first line is not there yet. */
  private readStart(bytes: Buffer): Head | undefined {
    if (bytes.length > this.port.head.lineBytes) return this.refused(bytes, 414);
    // A CR alone may become a blank line.
    const start = withoutCr(bytes.toString('latin1', 0, 64));
    return mayBeRequestLine(start) ? undefined : this.refused(bytes, 400);
  }

  private readHead(line: RequestLine, bytes: Buffer, { from, end }: { from: number; end: number }): Head {
    this.scan.start();
    this.connection = this.expect = '';
    const isMalformed = !this.readLines(bytes.toString('latin1', from, end));
    return this.head(line, { bytes: end, isMalformed });
  }

  /** False: one of the lines is not a header. */
  private readLines(text: string): boolean {
    for (let at = 0; at < text.length;) {
      const newline = text.indexOf('\n', at);
      const line = withoutCr(text.slice(at, newline));
      at = newline + 1;
      if (line === '') return true;
      const colon = line.indexOf(':');
      const name = line.slice(0, Math.max(colon, 0));
      if (!HEADER_NAME.test(name)) return false;
      const value = withoutBlanks(line, colon + 1);
      this.visit(name.toLowerCase(), EIGHT_BIT.test(value) ? Buffer.from(value, 'latin1').toString() : value);
    }
    return true;
  }

  private visit(name: string, value: string): void {
    this.scan.visit(name, value);
    if (name === 'connection')
      this.connection = this.connection === '' ? value : `${this.connection},${value}`;
    else if (name === 'expect') this.expect = value;
  }

  private head(line: RequestLine, { bytes, isMalformed }: { bytes: number; isMalformed: boolean }): Head {
    const { method, pathAndQuery, version } = line;
    const question = pathAndQuery.indexOf('?');
    const path = question < 0 ? pathAndQuery : pathAndQuery.slice(0, question);
    const args = question < 0 ? '' : pathAndQuery.slice(question + 1);
    const uri = normalizePath(path, this.port.mergeSlashes);
    const host = this.hostOf(line);
    let refusal = isMalformed ? 400 : this.scan.refusal(method);
    if (refusal === 0 && (uri === undefined || !isValidQuery(args)))
      refusal = this.scan.refuse(400, `client sent invalid request ${IN_LINE}`);
    if (refusal === 0 && host === undefined) refusal = this.refuseHost();
    // Nobody who speaks HTTP/1.0 knows it: what a proxy in front took for the body's end is unknown.
    if (refusal === 0 && version !== '1.1' && this.scan.contentLength < 0) refusal = 400;
    const { contentLength } = this.scan;
    return {
      facts: {
        method,
        requestUri: pathAndQuery,
        uri: uri ?? path,
        args,
        host: host ?? '',
        hostHeader: this.scan.host,
        referrer: this.scan.referrer,
        contentLength: refusal === 0 ? contentLength : 0,
        httpVersion: version === '1.1' ? '1.1' : '1.0',
      },
      headers: this.scan.headers,
      bytes,
      refusal,
      complaint: isMalformed ? `client sent invalid header line ${IN_HEADERS}` : this.scan.complaint,
      isHttp09: version === '0.9',
      keepsAlive:
        version === '1.1'
          ? !CLOSE.test(this.connection)
          : KEEP_ALIVE.test(this.connection) && !CLOSE.test(this.connection),
      expectsContinue:
        version === '1.1' && this.expect.toLowerCase() === '100-continue' && contentLength !== 0,
    };
  }

  /** The target's own host wins over the header, which HTTP/1.1 wants in any case. `undefined`: 400. */
  private hostOf({ authority, version }: RequestLine): string | undefined {
    if (this.scan.host === undefined && version === '1.1') return undefined;
    const named = this.scan.host === undefined ? '' : this.scan.hostName();
    return authority === '' || named === undefined ? named : parseHost(authority);
  }

  private refuseHost(): number {
    const what = this.scan.host === undefined ? 'HTTP/1.1 request without "Host"' : 'invalid host';
    return this.scan.refuse(400, `client sent ${what} header ${IN_HEADERS}`);
  }

  /** What can be told of a head that was not read to its end. */
  private refused(bytes: Buffer, refusal: number, line?: RequestLine): Head {
    const { method = '', target = '', version = '1.1' } = line ?? {};
    return {
      facts: {
        method,
        requestUri: target,
        uri: target,
        args: '',
        host: '',
        contentLength: 0,
        httpVersion: version === '1.1' ? '1.1' : '1.0',
      },
      headers: [],
      bytes: bytes.length,
      refusal,
      complaint: COMPLAINTS[refusal] ?? `client sent invalid request ${IN_LINE}`,
      isHttp09: false,
      keepsAlive: false,
      expectsContinue: false,
    };
  }
}

const COMPLAINTS: Readonly<Record<number, string>> = {
  414: `client sent too long URI ${IN_LINE}`,
  494: `client sent too long header line ${IN_HEADERS}`,
  505: `client sent invalid version ${IN_LINE}`,
};

function withoutCr(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
