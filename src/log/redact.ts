/** Names of parameters whose values never show in a log. */
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
/** Names of headers and cookies that let somebody in, in the spelling of variables. */
const CREDENTIAL =
  /(?:^|[_$])(?:authorization|cookie|api_?key|publish_key|token|passw(?:or)?d|secret|jwt|session|sess_?id|sid)$|sessid$/;
/** A semicolon ends it only where the name of another parameter follows. */
const VALUE = '(?:[^&;#\\s"]|;(?![^=?&;#\\s"]+=))+';
const SECRET_PARAMETER = new RegExp(`(^|[?&;\\s])(${SECRET_NAMES})=${VALUE}`, 'gi');

/** Whether a query parameter of this name holds a secret, in any case: `$arg_token` shows as `***`. */
export function isSecretParameter(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** Whether a header, a cookie or a variable of this name holds what lets somebody in: `X-Api-Key`, `$backend_token`. */
export function isCredential(name: string): boolean {
  return CREDENTIAL.test(name.toLowerCase().replaceAll('-', '_'));
}

/** Masks the values of secret parameters in a query, a URL or a request line: `?key=abc&n=1` becomes `?key=***&n=1`. */
export function redactQuery(text: string): string {
  if (!text.includes('=')) return text;
  const masked = text.replace(SECRET_PARAMETER, '$1$2=***');
  return masked.includes('%') ? masked.replace(PARAMETER, maskDecoded) : masked;
}

/** A name may be written with escapes, and means the same. A pattern that asked for them would look for each of them again. */
const PARAMETER = new RegExp(`(^|[?&;\\s])([^=?&;#\\s"]+)=${VALUE}`, 'g');

function maskDecoded(parameter: string, before: string, name: string): string {
  if (!name.includes('%')) return parameter;
  const decoded = name.replace(/%([0-7][0-9a-f])/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return isSecretParameter(decoded) ? `${before}${name}=***` : parameter;
}
