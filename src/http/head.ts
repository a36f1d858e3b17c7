import { isMethod } from '../http1/index.ts';

/** Methods that are served; others that nginx would read get 405, the rest 400. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** Never served, whatever the configuration asks for (nginx). */
const REFUSED: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

/**
 * The status that refuses a method, 0 for none. `anyMethod`: somebody forwards requests, and upstreams may know methods that
 * are not served here; WebDAV has two dozen of them.
 */
export function methodRefusal(method: string, anyMethod: boolean): 0 | 400 | 405 {
  if (method === 'GET' || METHODS.has(method)) return 0;
  if (!isMethod(method)) return 400;
  return anyMethod && !REFUSED.has(method) ? 0 : 405;
}

/**
 * Whether an `Accept-Encoding` asks for gzip, read as nginx reads it: the first `gzip` that begins the text or follows a
 * comma or blank counts, `q=0` refuses it, and so does a quality that is none (nginx: ngx_http_gzip_accept_encoding).
 */
export function acceptsGzip(acceptEncoding: string): boolean {
  if (acceptEncoding.startsWith('gzip,')) return true;
  const [, rest] = /(?:^|[, ])gzip(.*)$/is.exec(acceptEncoding) ?? [];
  if (rest === undefined) return false;
  const [, separator, parameter = ''] = /^ *(?:([,;])(.*))?$/s.exec(rest) ?? [undefined, 'other'];
  if (separator !== ';') return separator !== 'other';
  if (/^ *$/.test(parameter)) return true;
  return /^ *q=(?:1(?:\.0{0,3})?|0\.(?!0{0,3}(?:[, ]|$))\d{0,3})(?:[, ]|$)/i.test(parameter);
}

/** Internet Explorer, by its `User-Agent`; Opera has called itself so (nginx: ngx_http_process_user_agent). */
export function isMsie(userAgent: string): boolean {
  return /MSIE .{3}/.test(userAgent) && !userAgent.includes('Opera');
}

/** Internet Explorer 4 to 6, but for the 6 that came with Windows XP SP2: they choke on gzip. */
export function isMsie6(userAgent: string): boolean {
  if (userAgent.includes('Opera')) return false;
  const last = userAgent.lastIndexOf('MSIE 6.');
  return /MSIE [45]\./.test(userAgent) || (last >= 0 && !userAgent.includes('SV1', last));
}

/** Chrome, and what is built on it. */
export function isChrome(userAgent: string): boolean {
  return userAgent.includes('Chrome/') && !/Gecko\/|Opera|MSIE .{3}/.test(userAgent);
}
