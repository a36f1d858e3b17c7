/** RFC 9110, 5.6.2: a token. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const CONTROL_BUT_TAB = /[\0-\x08\x0a-\x1f\x7f]/;

const SPACE = 32;
const TAB = 9;

/** Whether a header that is written may have this name: a token. So may a method of a request. */
export function isSafeHeaderName(name: string): boolean {
  return TOKEN.test(name);
}

/**
 * Whether a value may stand in a header or status line: no control byte but tab (RFC 9110, 5.5), so it cannot end the line.
 * The header of a request with another value is refused: uWebSockets.js lets them through.
 */
export function isSafeHeaderValue(value: string): boolean {
  return !CONTROL_BUT_TAB.test(value);
}

/**
 * A header's value without the blanks around it (RFC 9110, 5.5): those alone, since what else `trim` takes may be half of a
 * character, or the reason why another parser reads the value differently. In one pass, whatever it holds.
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
