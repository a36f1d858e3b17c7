import type { Exchange } from '../../http/index.ts';
import type { RequestSettings } from './sql/index.ts';

/** What of an exchange the database is told besides the role (contract: "Authentication"). */
export function exchangeSettings(
  x: Exchange,
): Pick<RequestSettings, 'jwt' | 'method' | 'path' | 'headers' | 'cookies'> {
  return {
    jwt: /^bearer +(\S+)$/i.exec(x.header('authorization') ?? '')?.[1] ?? '',
    method: x.method,
    path: x.uri,
    headers: headersJson(x.headers),
    cookies: cookiesJson(x.header('cookie')),
  };
}

/** Repeated names joined; cookies have a setting of their own. */
function headersJson(headers: readonly string[]): string {
  const byName = new Map<string, string>();
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string;
    const value = headers[i + 1] as string;
    const before = byName.get(name);
    if (name !== 'cookie') byName.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return JSON.stringify(Object.fromEntries(byName));
}

function cookiesJson(header: string | undefined): string {
  if (header === undefined) return '{}';
  const pairs = header.split(';').map((piece) => piece.trim().split(/=(.*)/s));
  return JSON.stringify(
    Object.fromEntries(pairs.filter(([name]) => name).map(([name, value = '']) => [name, value])),
  );
}
