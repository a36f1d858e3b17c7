import { type KeySource, readKeySource } from '../../../src/tokens/index.ts';
import { type Direct, sharedDirect } from './direct.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';

/** `whoami` shows the role and the settings of a request; no role may read `closed`. */
export const WHOAMI = `
  create role stranger;
  create view whoami as select
    current_user as role,
    current_setting('request.jwt') as jwt,
    current_setting('request.jwt.claims') as claims,
    current_setting('request.headers')::json->>'authorization' as sent;
  create table closed (id int);
  grant select on whoami to anon, web_user, authenticator;
`;

export const user = { role: 'web_user' };

export const NO_KEY = '401 PGRST301 No suitable key or wrong key type';

/** A row of `whoami`. */
export interface Seen {
  readonly role: string;
  readonly jwt: string;
  readonly claims: string;
  readonly sent: string | null;
}

/** The row of `whoami` for a token, or status, code and message of the error. */
export async function seen(api: Direct, token: string): Promise<Seen | string> {
  const { status, body } = await api.get('/api/whoami', bearer(token));
  const json = JSON.parse(body) as Seen[] & { code: string; message: string };
  return status === 200 ? (json[0] as Seen) : `${status} ${json.code} ${json.message}`;
}

/** The keys in a value of `dbrest_jwt_secret`. */
export function keys(text: string): KeySource {
  const source = readKeySource(text);
  if ('fault' in source) throw new Error(source.fault);
  return source;
}

/** `sharedDirect` for locations with the usual secret. */
export function sharedSecured(): (
  dsn: string,
  config?: Parameters<ReturnType<typeof sharedDirect>>[1],
) => Promise<Direct> {
  const compiled = sharedDirect();
  return (dsn, config) => compiled(dsn, { jwtKeys: keys(SECRET), ...config });
}

/** A token of the usual user with this header. */
export const withHeader = (header: Record<string, unknown> | string): string => sign(user, { header });
