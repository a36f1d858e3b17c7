/** Names of parameters whose values never show in a log. */
const SECRET_NAMES = [
  'key',
  'api_?key',
  'jwt',
  '(?:access_|id_|refresh_)?token',
  'pass',
  'passwd',
  'password',
  'secret',
  'client_secret',
].join('|');

const SECRET_NAME = new RegExp(`^(?:${SECRET_NAMES})$`, 'i');
const SECRET_PARAMETER = new RegExp(`(^|[?&;\\s])(${SECRET_NAMES})=[^&;#\\s"]+`, 'gi');

/** Whether a query parameter of this name holds a secret, in any case: `$arg_token` shows as `***`. */
export function isSecretParameter(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** Masks the values of secret parameters in a query, a URL or a request line: `?key=abc&n=1` becomes `?key=***&n=1`. */
export function redactQuery(text: string): string {
  return text.includes('=') ? text.replace(SECRET_PARAMETER, '$1$2=***') : text;
}
