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

/** Version numbers as nginx takes them: one digit before the dot, two behind it at most. */
const LINE = /^(\S+) +(\S+)(?: +HTTP\/([1-9])\.(\d{1,2}) *)?$/;
const METHOD = /^[A-Z_-]+$/;
/** RFC 9112, 3.2.2. nginx takes every scheme. */
const ABSOLUTE = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?#]+)(.*)$/;

/**
 * Reads a request line, or gives the status that refuses it. As nginx: blanks may repeat, a line without a version is
 * HTTP/0.9, and neither `*` nor `host:port` is a target.
 */
export function readRequestLine(line: string): RequestLine | number {
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
export function mayBeRequestLine(start: string): boolean {
  return /^[A-Z_-]*(?: |$)/.test(start);
}
