/** What `Authorization: Basic …` says. */
export interface Credentials {
  /** One byte per character. */
  readonly user: string;
  readonly password: Buffer;
}

const BASE64 = /^[A-Za-z0-9+/]*$/;
const COLON = 0x3a;

/** Name and password of a header value, or `undefined` (nginx ngx_http_auth_basic_user). The name is never empty. */
export function readCredentials(authorization: string | undefined): Credentials | undefined {
  const [, encoded] = /^basic +(.*)$/is.exec(authorization ?? '') ?? [];
  // Whatever follows the padding does not count.
  const digits = encoded?.split('=', 1)[0] ?? '';
  if (digits === '' || digits.length % 4 === 1 || !BASE64.test(digits)) return undefined;
  const text = Buffer.from(digits, 'base64');
  const colon = text.indexOf(COLON);
  if (colon <= 0) return undefined;
  return { user: text.toString('latin1', 0, colon), password: text.subarray(colon + 1) };
}
