import { isMethod } from '../http1/index.ts';

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

const CODINGS = { gzip: /(?:^|[, ])gzip(.*)$/is, br: /(?:^|[, ])br(.*)$/is };

/**
 * Tells whether an `Accept-Encoding` accepts a coding, by nginx's rules: the first one at the start or after a comma or
 * blank counts; `q=0` or a malformed quality refuses it (nginx: ngx_http_gzip_accept_encoding).
 */
export function acceptsCoding(acceptEncoding: string, coding: keyof typeof CODINGS): boolean {
  if (coding === 'gzip' && acceptEncoding.startsWith('gzip,')) return true;
  const [, rest] = CODINGS[coding].exec(acceptEncoding) ?? [];
  if (rest === undefined) return false;
  const [, separator, parameter = ''] = /^ *(?:([,;])(.*))?$/s.exec(rest) ?? [undefined, 'other'];
  if (separator !== ';') return separator !== 'other';
  if (/^ *$/.test(parameter)) return true;
  return /^ *q=(?:1(?:\.0{0,3})?|0\.(?!0{0,3}(?:[, ]|$))\d{0,3})(?:[, ]|$)/i.test(parameter);
}

/**
 * Tells whether a `User-Agent` is Internet Explorer. Opera used to include `MSIE` in its own (nginx:
 * ngx_http_process_user_agent).
 */
export function isMsie(userAgent: string): boolean {
  return /MSIE .{3}/.test(userAgent) && !userAgent.includes('Opera');
}

/**
 * Tells whether a `User-Agent` is Internet Explorer 4 to 6, except the 6 of Windows XP SP2. These cannot handle gzip.
 */
export function isMsie6(userAgent: string): boolean {
  if (userAgent.includes('Opera')) return false;
  const last = userAgent.lastIndexOf('MSIE 6.');
  return /MSIE [45]\./.test(userAgent) || (last >= 0 && !userAgent.includes('SV1', last));
}

/** Tells whether a `User-Agent` is Chrome or a browser built on it. */
export function isChrome(userAgent: string): boolean {
  return userAgent.includes('Chrome/') && !/Gecko\/|Opera|MSIE .{3}/.test(userAgent);
}
