/** Methods that are served; others that nginx would read get 405, the rest 400. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** What nginx takes for a method: no digits. */
const METHOD = /^[A-Z_-]+$/;
/** Never served, whatever the configuration asks for (nginx). */
const REFUSED: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

/**
 * The status that refuses a method, 0 for none. `anyMethod`: somebody forwards requests, and upstreams may know methods that
 * are not served here; WebDAV has two dozen of them.
 */
export function methodRefusal(method: string, anyMethod: boolean): 0 | 400 | 405 {
  if (method === 'GET' || METHODS.has(method)) return 0;
  if (!METHOD.test(method)) return 400;
  return anyMethod && !REFUSED.has(method) ? 0 : 405;
}

/** RFC 9110, 5.6.2: a token. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const CONTROL_BUT_TAB = /[\0-\x08\x0a-\x1f\x7f]/;

/** Whether a response header may have this name. */
export function isSafeHeaderName(name: string): boolean {
  return TOKEN.test(name);
}

/** Whether a value may stand in a response header or status line: no control byte but tab, so it cannot split the answer. */
export function isSafeHeaderValue(value: string): boolean {
  return !CONTROL_BUT_TAB.test(value);
}

/** Whether a request header's value has bytes that RFC 9110, 5.5 forbids: 400. uWebSockets.js lets them through. */
export function hasForbiddenBytes(value: string): boolean {
  return CONTROL_BUT_TAB.test(value);
}

/**
 * A header's value without the blanks around it (RFC 9110, 5.5): those alone, since what else `trim` takes may be half of a
 * character, or the reason why another parser reads the value differently. In one pass, whatever it holds.
 */
export function withoutBlanks(line: string, from: number): string {
  let start = from;
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start++;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--;
  return line.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
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
