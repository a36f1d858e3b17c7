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

const JSON_SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** Escapes a value for a log line as nginx does by default: special UTF-8 bytes become `\xXX`. */
export function escapeDefault(text: string): string {
  return DEFAULT_UNSAFE.test(text) ? text.replace(DEFAULT_UNSAFE_RUN, hexBytes) : text;
}

/** Escapes a value for the inside of a JSON string (nginx ngx_escape_json). */
export function escapeJson(text: string): string {
  return JSON_UNSAFE.test(text) ? text.replace(EACH_JSON_UNSAFE, jsonEscape) : text;
}

function jsonEscape(character: string): string {
  return JSON_SHORT[character] ?? `\\u00${hex(character.charCodeAt(0))}`;
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
  const masked = text.replace(SECRET_PARAMETER, '$1$2=***');
  return masked.includes('%') ? masked.replace(PARAMETER, maskDecoded) : masked;
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
