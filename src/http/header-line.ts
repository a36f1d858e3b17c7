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
