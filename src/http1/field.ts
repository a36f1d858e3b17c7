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

/** A control byte could end the line. */
// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const CONTROL_BYTES = /[\0-\x08\x0a-\x1f\x7f]/g;

/** Returns the value with control bytes as blanks. nginx sends them, as in the lines of `$ssl_client_cert`. */
export function cleanHeaderValue(value: string): string {
  return isSafeHeaderValue(value) ? value : value.replaceAll(CONTROL_BYTES, ' ');
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
