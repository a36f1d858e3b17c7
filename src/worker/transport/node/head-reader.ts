import type { PortHandler } from '../../../compile/index.ts';
import {
  isValidQuery,
  normalizePath,
  parseHost,
  type RequestFacts,
  splitTarget,
} from '../../../http/index.ts';
import {
  emptyLineAt,
  headEnd,
  joinConnection,
  keepsAlive,
  lineOf,
  type LineReceiver,
  mayBeRequestLine,
  readHeaderLines,
  readRequestLine,
  type RequestLine,
} from '../../../http1/index.ts';
import type { HeadRules } from '../../../plan/index.ts';
import { HeadScan, headRulesOf, IN_HEADERS, IN_LINE } from '../head-scan.ts';

const LF = 10;
/** The number of empty lines that are accepted before a request. */
const MOST_BLANK_LINES = 8;

/** The progress of searching for the end of a head, so that no byte is searched again with each packet. */
export class HeadProgress {
  /** The request line, once it is complete and valid. */
  line: RequestLine | undefined = undefined;
  lineEnd = -1;
  /** Number of bytes already searched without success. */
  searched = 0;
  /** Start of the last line, which is still incomplete. */
  lastLine = 0;
  #blankLines = 0;

  get hasTooManyBlankLines(): boolean {
    return this.#blankLines > MOST_BLANK_LINES;
  }

  /** Called before the next request. */
  reset(): void {
    this.line = undefined;
    this.lineEnd = -1;
    this.searched = this.lastLine = this.#blankLines = 0;
  }

  /** Removes empty lines before the request line, as robust servers do (RFC 9112, 2.2). */
  withoutBlankLines(bytes: Buffer): Buffer {
    let start = 0;
    for (let size = emptyLineAt(bytes, 0); size > 0; size = emptyLineAt(bytes, start)) {
      if (++this.#blankLines > MOST_BLANK_LINES) break;
      start += size;
    }
    if (start === 0) return bytes;
    this.searched = 0;
    return bytes.subarray(start);
  }

  /** Returns the end of the first line; -1 if it is incomplete. */
  findLineEnd(bytes: Buffer): number {
    if (this.lineEnd < 0) {
      this.lineEnd = bytes.indexOf(LF, this.searched);
      this.searched = this.lastLine = this.lineEnd < 0 ? bytes.length : this.lineEnd + 1;
    }
    return this.lineEnd;
  }

  /** Returns the position after the empty line that ends the head; -1 if it is incomplete. */
  findEnd(bytes: Buffer): number {
    // The empty line may have begun in the bytes searched before.
    const end = headEnd(bytes, Math.max(this.lineEnd, this.searched - 2));
    if (end >= 0) return end;
    this.lastLine = Math.max(
      this.lastLine,
      this.searched + bytes.subarray(this.searched).lastIndexOf(LF) + 1,
    );
    this.searched = bytes.length;
    return -1;
  }
}

/** The head of a request and the properties derived from it. */
export interface Head {
  readonly facts: Omit<RequestFacts, 'serial' | 'port' | 'connection' | 'headers'>;
  readonly headers: readonly string[];
  /** Its length in bytes. */
  readonly bytes: number;
  /** The status that refuses the request, or 0. */
  readonly refusal: number;
  /** The reason in nginx's words. */
  readonly complaint: string;
  readonly isHttp09: boolean;
  readonly keepsAlive: boolean;
  readonly expectsContinue: boolean;
}

/** The start of a valid request line. Without it nginx reports an invalid method. */
const METHOD_AND_BLANK = /^[A-Z_-]+ /;

/** The position of the header lines, and the rules that apply first. */
interface HeaderBlock {
  readonly from: number;
  readonly end: number;
  readonly rules: HeadRules;
}

interface ReadHead {
  readonly bytes: number;
  readonly isMalformed: boolean;
  readonly mergesSlashes: boolean;
}

const EIGHT_BIT = /[\x80-\xff]/;

/** Decodes bytes that were read as one character each. */
function fromUtf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString();
}

/**
 * Reads request heads as nginx does: lines end with CRLF or a bare LF. Everything that two parsers could read
 * differently is refused: a bare CR, a folded line, a line without a colon, a blank before the colon.
 */
export class HeadReader implements LineReceiver {
  readonly takesBareNames = false;
  readonly #scan: HeadScan;
  readonly #port: PortHandler;
  #connection = '';
  #expect = '';
  /** True if no byte of the headers needs decoding. */
  #isAscii = true;

  constructor(port: PortHandler) {
    this.#port = port;
    this.#scan = new HeadScan(port, Infinity);
  }

  /**
   * Reads the head at the start of `bytes`; returns `undefined` if it is incomplete. `seen` must belong to the same
   * head; `serverName` is the one in the handshake.
   */
  read(bytes: Buffer, seen = new HeadProgress(), serverName = ''): Head | undefined {
    if (seen.hasTooManyBlankLines) return this.#refused(bytes, 400);
    const rules = headRulesOf(this.#port, serverName);
    const lineEnd = seen.findLineEnd(bytes);
    if (lineEnd < 0) return this.#readStart(bytes, rules);
    if (lineEnd > rules.lineBytes) return this.#refused(bytes, 414);
    const line = seen.line ?? readRequestLine(lineOf(bytes.toString('latin1', 0, lineEnd), 0, lineEnd));
    if (typeof line === 'number') return this.#refused(bytes, line);
    if (line.version === '0.9')
      return this.#readHead(line, bytes, { from: lineEnd + 1, end: lineEnd + 1, rules });
    seen.line = line;
    const end = seen.findEnd(bytes);
    const size = (end < 0 ? bytes.length : end) - lineEnd - 1;
    const { headLimits } = this.#port;
    if (size > headLimits.bytes) return this.#refused(bytes, 494, line);
    if (end >= 0) return this.#readHead(line, bytes, { from: lineEnd + 1, end, rules });
    const isTooLong = bytes.length - seen.lastLine > headLimits.lineBytes;
    return isTooLong ? this.#refused(bytes, 494, line) : undefined;
  }

  /** Returns the known parts of a head that was never completed. */
  unfinished(bytes: Buffer, { line }: HeadProgress): Head {
    return this.#refused(bytes, 408, line);
  }

  /** Checks a head whose first line is incomplete. */
  #readStart(bytes: Buffer, { lineBytes }: HeadRules): Head | undefined {
    if (bytes.length > lineBytes) return this.#refused(bytes, 414);
    // A single CR may be the start of an empty line.
    const text = bytes.toString('latin1', 0, 64);
    const start = lineOf(text, 0, text.length);
    return mayBeRequestLine(start) ? undefined : this.#refused(bytes, 400);
  }

  #readHead(line: RequestLine, bytes: Buffer, { from, end, rules }: HeaderBlock): Head {
    this.#scan.start(rules);
    // An absolute target names the server before any header does.
    if (line.authority !== '') this.#scan.name(line.authority);
    this.#connection = this.#expect = '';
    const text = bytes.toString('latin1', from, end);
    this.#isAscii = !EIGHT_BIT.test(text);
    const isMalformed = readHeaderLines(text, 0, this) !== undefined;
    return this.#head(line, { bytes: end, isMalformed, mergesSlashes: rules.mergeSlashes });
  }

  field(name: string, value: string): true {
    this.#visit(name.toLowerCase(), this.#isAscii ? value : fromUtf8(value));
    return true;
  }

  #visit(name: string, value: string): void {
    this.#scan.visit(name, value);
    if (name === 'connection') this.#connection = joinConnection(this.#connection, value);
    else if (name === 'expect') this.#expect = value;
  }

  #head(line: RequestLine, { bytes, isMalformed, mergesSlashes }: ReadHead): Head {
    const { method, version } = line;
    const pathAndQuery = EIGHT_BIT.test(line.pathAndQuery) ? fromUtf8(line.pathAndQuery) : line.pathAndQuery;
    const { path, args } = splitTarget(pathAndQuery);
    const uri = normalizePath(path, mergesSlashes);
    const host = this.#hostOf(line);
    let refusal = isMalformed ? 400 : this.#scan.refusal(method, version === '1.1');
    if (refusal === 0 && (uri === undefined || !isValidQuery(args)))
      refusal = this.#scan.refuse(400, `client sent invalid request ${IN_LINE}`);
    if (refusal === 0 && host === undefined) refusal = this.#refuseHost();
    const { contentLength } = this.#scan;
    return {
      facts: {
        line: unusualLine(line),
        method,
        requestUri: pathAndQuery,
        uri: uri ?? '',
        args,
        host: host ?? '',
        authority: line.authority,
        hostHeader: this.#scan.host,
        referrer: this.#scan.referrer,
        contentLength: refusal === 0 ? contentLength : 0,
        httpVersion: version === '1.1' ? '1.1' : '1.0',
      },
      headers: this.#scan.headers,
      bytes,
      refusal,
      complaint: isMalformed ? `client sent invalid header line ${IN_HEADERS}` : this.#scan.complaint,
      isHttp09: version === '0.9',
      keepsAlive: keepsAlive(this.#connection, version === '1.1'),
      expectsContinue: version === '1.1' && this.#expect.toLowerCase() === '100-continue',
    };
  }

  /**
   * Returns the host: that of an absolute target, or of the `Host` header, which HTTP/1.1 requires in any case.
   * `undefined` means 400.
   */
  #hostOf({ authority, version }: RequestLine): string | undefined {
    if (this.#scan.host === undefined && version === '1.1') return undefined;
    const named = this.#scan.host === undefined ? '' : this.#scan.hostName();
    return authority === '' || named === undefined ? named : parseHost(authority);
  }

  #refuseHost(): number {
    const what = this.#scan.host === undefined ? 'HTTP/1.1 request without "Host"' : 'invalid host';
    return this.#scan.refuse(400, `client sent ${what} header ${IN_HEADERS}`);
  }

  /** Returns a refused head with the fields that are known. */
  #refused(bytes: Buffer, refusal: number, line?: RequestLine): Head {
    const { method = '', target = '', version = '1.1' } = line ?? {};
    const malformed = line ? undefined : this.#malformedLine(bytes, refusal);
    const what = malformed === undefined || METHOD_AND_BLANK.test(malformed) ? 'request' : 'method';
    return {
      facts: {
        line: malformed,
        method,
        requestUri: target,
        uri: refusal === 414 ? this.#pathOf(malformed) : target,
        args: '',
        host: '',
        contentLength: 0,
        httpVersion: version === '1.1' ? '1.1' : '1.0',
      },
      headers: [],
      bytes: bytes.length,
      refusal,
      complaint: COMPLAINTS[refusal] ?? `client sent invalid ${what} ${IN_LINE}`,
      isHttp09: false,
      keepsAlive: false,
      expectsContinue: false,
    };
  }

  /** Returns the path of a line whose query is too long; '' for any other. */
  #pathOf(line = ''): string {
    const path = PATH_AND_QUERY.exec(line)?.[1];
    return (path && normalizePath(path, this.#port.head.mergeSlashes)) ?? '';
  }

  /** Returns the first line of a refused head, as far as it was read; '' if it never ended (nginx). */
  #malformedLine(bytes: Buffer, refusal: number): string {
    const lineEnd = bytes.indexOf(LF);
    if (lineEnd < 0 && refusal === 408) return '';
    const text = bytes.toString(
      'utf8',
      0,
      Math.min(lineEnd < 0 ? bytes.length : lineEnd, this.#port.head.lineBytes),
    );
    return lineOf(text, 0, text.length);
  }
}

/** Returns the request line for `$request`; `undefined` if method, path and version reproduce it. */
function unusualLine({ method, target, authority, version }: RequestLine): string | undefined {
  // nginx shows no version for HTTP/0.9.
  if (version === '0.9') return `${method} ${fromUtf8(target)}`;
  return authority === '' ? undefined : `${method} ${fromUtf8(target)} HTTP/${version}`;
}

const PATH_AND_QUERY = /^[A-Z]+ (\/[^?# ]*)\?/;
const COMPLAINTS: Readonly<Record<number, string>> = {
  405: `client sent CONNECT method ${IN_LINE}`,
  414: `client sent too long URI ${IN_LINE}`,
  494: `client sent too long header line ${IN_HEADERS}`,
  505: `client sent invalid version ${IN_LINE}`,
};
