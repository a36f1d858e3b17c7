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
/** Absolute form (RFC 9112, 3.2.2). As in nginx, any scheme is accepted. */
const ABSOLUTE = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?#]+)(.*)$/;
const STATUS_LINE = /^HTTP\/(\d+)\.(\d+) +(\d{3})(?: (.*))?$/;
const OK: StatusLine = { status: 200, reason: 'OK', isHttp11: true };

/** Tells whether a text is a method as nginx accepts it: without digits. */
export function isMethod(text: string): boolean {
  return METHOD.test(text);
}

/** A host and a port (RFC 9112, 3.2.3). */
const AUTHORITY = /^(?:[\w.~-]+|\[[\da-f:.]+\]):\d{1,5}$/i;

/**
 * Reads a request line, or returns the status that refuses it. As in nginx, blanks may repeat, a line without a version
 * is HTTP/0.9, and `*` is not a valid target. CONNECT is refused: 405 with the target that it must have, otherwise 400.
 */
export function readRequestLine(line: string): RequestLine | number {
  const [, method = '', target = '', major, minor] = REQUEST_LINE.exec(line) ?? [];
  if (!METHOD.test(method)) return 400;
  if (major !== undefined && major !== '1') return 505;
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
