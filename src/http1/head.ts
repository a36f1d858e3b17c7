/** RFC 9110, 5.6.2: a token. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const CONTROL_BUT_TAB = /[\0-\x08\x0a-\x1f\x7f]/;

const SPACE = 32;
const TAB = 9;

/** Tells whether a text is a valid header name: a token. Methods of requests follow the same rule. */
export function isSafeHeaderName(name: string): boolean {
  return TOKEN.test(name);
}

/**
 * Tells whether a text may be written as a header value or a reason phrase: it has no control byte but tab (RFC 9110,
 * 5.5), so it cannot end the line. Requests with other values are refused; uWebSockets.js accepts them.
 */
export function isSafeHeaderValue(value: string): boolean {
  return !CONTROL_BUT_TAB.test(value);
}

const ALL_CONTROL_BUT_TAB = new RegExp(CONTROL_BUT_TAB, 'g');

/** Returns the value with control bytes as blanks. nginx sends them, as in the lines of `$ssl_client_cert`. */
export function cleanHeaderValue(value: string): string {
  return isSafeHeaderValue(value) ? value : value.replaceAll(ALL_CONTROL_BUT_TAB, ' ');
}

/**
 * Returns a header's value without surrounding blanks (RFC 9110, 5.5). `trim` would remove more characters, which may
 * be parts of multi-byte characters or be read differently by another parser. Runs in linear time.
 */
export function withoutBlanks(line: string, from = 0): string {
  let start = from;
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start++;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--;
  return line.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

/** The first line of a request. */
export interface RequestLine {
  readonly method: string;
  /** As received: `$request_uri`. */
  readonly target: string;
  /** `path?query` of the target, without scheme and host. */
  readonly pathAndQuery: string;
  /** Host and port of a target in absolute form; '' in origin form. */
  readonly authority: string;
  readonly version: '0.9' | '1.0' | '1.1';
}

/** The first line of a response. */
interface StatusLine {
  readonly status: number;
  /** One character per byte. */
  readonly reason: string;
  readonly isHttp11: boolean;
}

/** Version numbers as nginx accepts them: one digit before the dot, at most two after it. */
const REQUEST_LINE = /^(\S+) +(\S+)(?: +HTTP\/([1-9])\.(\d{1,2}) *)?$/;
const METHOD = /^[A-Z_-]+$/;
const USUAL_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);
const BLANK = /\s/;
const SLASH = 47;
/** Absolute form (RFC 9112, 3.2.2). As in nginx, any scheme is accepted. */
const ABSOLUTE = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?#]+)(.*)$/;
/** The start of a target that a request of any version may have. */
const TARGET_START = /^(?:\/|[A-Za-z][A-Za-z0-9+.-]*:\/\/)/;
const STATUS_LINE = /^HTTP\/(\d+)\.(\d+) +(\d{3})(?: (.*))?$/;
const OK: StatusLine = { status: 200, reason: 'OK', isHttp11: true };

/** Tells whether a text is a method as nginx accepts it: without digits. */
function isMethod(text: string): boolean {
  return METHOD.test(text);
}

/** Methods that are refused everywhere, as in nginx. */
const REFUSED: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

/**
 * Returns the status that refuses a method, or 0. A location decides about all other methods: upstreams use two dozen
 * of WebDAV, and `return` responds to any (nginx).
 */
export function methodRefusal(method: string): 0 | 400 | 405 {
  if (method === 'GET') return 0;
  if (!isMethod(method)) return 400;
  return REFUSED.has(method) ? 405 : 0;
}

/** A host and a port (RFC 9112, 3.2.3). */
const AUTHORITY = /^(?:[\w.~-]+|\[[\da-f:.]+\]):\d{1,5}$/i;

/**
 * Reads a request line, or returns the status that refuses it. As in nginx, blanks may repeat, a line without a version
 * is HTTP/0.9, and `*` is not a valid target, not even in the preface of HTTP/2. CONNECT is refused: 405 with the target
 * that it must have, otherwise 400.
 */
export function readRequestLine(line: string): RequestLine | number {
  return readUsualLine(line) ?? readAnyLine(line);
}

const USUAL_END = ' HTTP/1.1';

/** Reads a line as nearly all clients send it: nothing repeats, and the target is a path. The regex would take longer. */
function readUsualLine(line: string): RequestLine | undefined {
  const blank = line.indexOf(' ');
  if (line.charCodeAt(blank + 1) !== SLASH || !line.endsWith(USUAL_END)) return undefined;
  const method = line.slice(0, blank);
  const target = line.slice(blank + 1, -USUAL_END.length);
  if (!USUAL_METHODS.has(method) || BLANK.test(target)) return undefined;
  return { method, target, pathAndQuery: target, authority: '', version: '1.1' };
}

function readAnyLine(line: string): RequestLine | number {
  const [, method = '', target = '', major, minor] = REQUEST_LINE.exec(line) ?? [];
  if (!METHOD.test(method)) return 400;
  if (major !== undefined && major !== '1') return TARGET_START.test(target) ? 505 : 400;
  if (major === undefined && method !== 'GET') return 400;
  const version = major === undefined ? '0.9' : minor === '0' ? '1.0' : '1.1';
  if (method === 'CONNECT') return AUTHORITY.test(target) ? 405 : 400;
  if (target.startsWith('/')) return { method, target, pathAndQuery: target, authority: '', version };
  const [, authority, rest = ''] = ABSOLUTE.exec(target) ?? [];
  if (authority === undefined) return 400;
  return { method, target, pathAndQuery: rest.startsWith('/') ? rest : `/${rest}`, authority, version };
}

/** Tells whether the start of a line can become a request line. A TLS hello or a binary protocol cannot. */
export function mayBeRequestLine(start: string): boolean {
  return /^[A-Z_-]*(?: |$)/.test(start);
}

/**
 * Reads a status line. Returns `undefined` for another protocol or version (nginx responds with 502, and does not
 * accept HTTP/0.9).
 */
export function readStatusLine(line: string): StatusLine | undefined {
  if (line === 'HTTP/1.1 200 OK') return OK;
  const [, major, minor, code, reason = ''] = STATUS_LINE.exec(line) ?? [];
  const status = Number(code);
  return major === '1' && status >= 100 ? { status, reason, isHttp11: minor !== '0' } : undefined;
}

/** Returns a request line. Its parts must not contain line ends. */
export function requestLine(method: string, target: string, version: '1.0' | '1.1'): string {
  return `${method} ${target} HTTP/${version}\r\n`;
}

/** Returns a status line; `line` has status and reason: `200 OK`. */
export function responseLine(line: string): string {
  return `HTTP/1.1 ${line}\r\n`;
}

const LF = 10;
const CR = 13;

/**
 * A field name: neither blanks nor control bytes. RFC 9110, 5.1 allows fewer characters; the receiver decides about
 * names that are no tokens.
 */
const NAME = /^[\x21-\x39\x3b-\x7e\x80-\xff]+$/;

/** Receives the header lines of a head. */
export interface LineReceiver {
  /**
   * True to accept a line without a colon as a name without a value. Clients may not send such a line, since another
   * server could read it as a part of the line before. nginx accepts it from upstreams, and some send it.
   */
  readonly takesBareNames: boolean;
  /** `value` has one character per byte and no surrounding blanks. Returning false refuses the line. */
  field(name: string, value: string): boolean;
}

/**
 * Returns the position after the first empty line at or after `from`, which ends a head; -1 if there is none yet. Lines
 * end with CRLF or a bare LF (RFC 9112, 2.2); a bare CR does not end a line. A search that continues may start two
 * bytes before the end of the bytes searched before.
 */
export function headEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    const next = bytes[at + 1];
    if (next === LF) return at + 2;
    if (next === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}

/** Returns the length of the empty line at a position; 0 if there is none. */
export function emptyLineAt(bytes: Buffer, at: number): number {
  if (bytes[at] === LF) return 1;
  return bytes[at] === CR && bytes[at + 1] === LF ? 2 : 0;
}

/**
 * Returns the line of `text` from `from` to the line feed at `newline` (or the end of the text so far), without its CR.
 */
export function lineOf(text: string, from: number, newline: number): string {
  return text.slice(from, text.charCodeAt(newline - 1) === CR ? newline - 1 : newline);
}

/**
 * Reads the header lines of a head from `from` up to its empty line; `text` has one character per byte. Returns the
 * first invalid line: a folded line, or one with a blank in its name or before its colon. Parsers disagree about these.
 */
export function readHeaderLines(text: string, from: number, receiver: LineReceiver): string | undefined {
  let at = from;
  for (let newline = text.indexOf('\n', at); newline >= 0; newline = text.indexOf('\n', at)) {
    const line = lineOf(text, at, newline);
    at = newline + 1;
    if (line === '') return undefined;
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : withoutBlanks(line, colon + 1);
    if (colon < 0 && !receiver.takesBareNames) return line;
    if (!NAME.test(name) || !receiver.field(name, value)) return line;
  }
  return undefined;
}

/** Returns one header line. */
export function headerLine(name: string, value: string | number): string {
  return `${name}: ${value}\r\n`;
}

/** Returns the header lines for a flat list: name, value, name, value … */
export function headerLines(fields: readonly string[]): string {
  let text = '';
  for (let index = 0; index < fields.length; index += 2) {
    text += `${fields[index] as string}: ${fields[index + 1] as string}\r\n`;
  }
  return text;
}
