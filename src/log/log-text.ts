import { SHORT_ESCAPES } from './json-text.ts';

/**
 * The characters that `log_format escape=default` writes as `\xXX` (nginx ngx_http_log_escape): `"`, `\`, controls and
 * everything above `~`.
 */
const DEFAULT_UNSAFE = /[^ !#-[\]-~]/;
const DEFAULT_UNSAFE_RUN = /[^ !#-[\]-~]+/g;

// eslint-disable-next-line no-control-regex -- it looks for control bytes
const JSON_UNSAFE = /["\\\0-\x1f]/;
// eslint-disable-next-line no-control-regex -- it looks for control bytes
const EACH_JSON_UNSAFE = /["\\\0-\x1f]/g;

/** Escapes a value for a log line as nginx does by default: special UTF-8 bytes become `\xXX`. */
export function escapeDefault(text: string): string {
  return DEFAULT_UNSAFE.test(text) ? text.replace(DEFAULT_UNSAFE_RUN, hexBytes) : text;
}

/** Escapes a value for the inside of a JSON string (nginx ngx_escape_json). */
export function escapeJson(text: string): string {
  return JSON_UNSAFE.test(text) ? text.replace(EACH_JSON_UNSAFE, jsonEscape) : text;
}

function jsonEscape(character: string): string {
  return SHORT_ESCAPES[character] ?? `\\u00${hex(character.charCodeAt(0))}`;
}

function hexBytes(run: string): string {
  let escaped = '';
  for (const byte of Buffer.from(run)) escaped += `\\x${hex(byte)}`;
  return escaped;
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0');
}

/** Names of parameters whose values are masked in logs. */
const SECRET_NAMES = [
  'key',
  'api[-_]?key',
  'jwt',
  '(?:(?:access|id|refresh)[-_])?token',
  'pass',
  'passwd',
  'password',
  'secret',
  'client[-_]secret',
  '(?:client[-_])?assertion',
  'code[-_]verifier',
].join('|');

const SECRET_NAME = new RegExp(`^(?:${SECRET_NAMES})$`, 'i');
/** Names of headers and cookies that carry credentials, in the spelling of variables. */
const CREDENTIAL =
  /(?:^|[_$])(?:authorization|cookie|api_?key|publish_key|token|passw(?:or)?d|secret|jwt|session|sess_?id|sid)$|sessid$/;
/** A semicolon ends a value only if the name of another parameter follows. */
const VALUE = '(?:[^&;#\\s"]|;(?![^=?&;#\\s"]+=))+';
const SECRET_PARAMETER = new RegExp(`(^|[?&;\\s])(${SECRET_NAMES})=${VALUE}`, 'gi');

/**
 * Tells whether a query parameter of this name contains a secret; case does not matter. `$arg_token` is shown as `***`.
 */
export function isSecretParameter(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** Tells whether a header, a cookie or a variable of this name carries credentials: `X-Api-Key`, `$backend_token`. */
export function isCredential(name: string): boolean {
  return CREDENTIAL.test(name.toLowerCase().replaceAll('-', '_'));
}

/** Masks the values of secret parameters in a query, a URL or a request line: `?key=abc&n=1` becomes `?key=***&n=1`. */
export function redactQuery(text: string): string {
  if (!text.includes('=')) return text;
  let masked = text.replace(SECRET_PARAMETER, '$1$2=***');
  if (isAuthorizationResponse(masked)) masked = masked.replace(LOGIN_PARAMETER, '$1$2=***');
  if (masked.includes('%')) masked = masked.replace(PARAMETER, maskDecoded);
  return redactLogins(masked);
}

/** What a provider sends a client back with: the two parameters beside each other (RFC 6749, 4.1.2). */
const LOGIN_PARAMETER = new RegExp(`(^|[?&;\\s])(code|state)=${VALUE}`, 'g');

/**
 * Tells whether a query takes a login back from a provider. Its `code` and `state` are secrets then; alone, they are
 * words that queries have for other things.
 */
export function isAuthorizationResponse(query: string): boolean {
  return /(?:^|[?&;\s])code=/.test(query) && /(?:^|[?&;\s])state=/.test(query);
}

/** A password in a URL: `postgres://ann:secret@db/app`. */
const LOGIN = /(\b[a-z][a-z0-9+.-]{0,31}:\/\/[^\s/:@"?#]{0,256}):[^\s/@"]{1,1024}@/gi;

/** Masks the passwords in URLs and connection strings. */
export function redactLogins(text: string): string {
  return text.includes('://') && text.includes('@') ? text.replace(LOGIN, '$1:***@') : text;
}

/**
 * A parameter whose name may contain percent escapes. A pattern for escaped secret names would need far more
 * backtracking.
 */
const PARAMETER = new RegExp(`(^|[?&;\\s])([^=?&;#\\s"]+)=${VALUE}`, 'g');

function maskDecoded(parameter: string, before: string, name: string): string {
  if (!name.includes('%')) return parameter;
  const decoded = name.replace(/%([0-7][0-9a-f])/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return isSecretParameter(decoded) ? `${before}${name}=***` : parameter;
}
