import type { Getter } from '../../../http/index.ts';

/** User name out of `Authorization: Basic …` (RFC 7617); nothing is checked here. */
export function remoteUser(authorization: Getter): Getter {
  return (x) => {
    const credentials = /^basic +([a-z0-9+/=]+) *$/i.exec(authorization(x) ?? '')?.[1];
    if (credentials === undefined) return undefined;
    const text = Buffer.from(credentials, 'base64').toString('utf8');
    const colon = text.indexOf(':');
    return colon > 0 ? text.slice(0, colon) : undefined;
  };
}
