import { isIP } from 'node:net';
import type { Exchange } from './exchange.ts';
import { parseHost } from './uri.ts';

/**
 * The request headers that `readRefusal` and `writeRefusal` need: they tell whether a page of another site sent the
 * request.
 */
export const SITE_HEADERS = ['host', 'origin', 'sec-fetch-site'] as const;

/**
 * Values of `Sec-Fetch-Site` for requests from the gateway's own pages, from the address bar, and from clients that are
 * no browsers.
 */
const OWN_SITES: ReadonlySet<string | undefined> = new Set([undefined, 'same-origin', 'none']);

/** Tells whether some server is configured for a name. */
export type KnowsHost = (host: string) => boolean;

/**
 * Tells whether a host name is safe from DNS rebinding: an address, a `localhost` name, which never leaves the machine
 * (RFC 6761, 6.3), or a configured name. Another name that resolves to this gateway would give pages of that name
 * access.
 */
export function isOwnName(host: string, knowsHost: KnowsHost): boolean {
  const address = host.startsWith('[') ? host.slice(1, -1) : host;
  if (isIP(address) !== 0 || host === 'localhost' || host.endsWith('.localhost')) return true;
  return parseHost(host) !== undefined && knowsHost(host);
}

/** Returns why a request must not change anything: a page of another site may have sent it. Needs `SITE_HEADERS`. */
export function writeRefusal(x: Exchange, knowsHost: KnowsHost): string | undefined {
  if (!isOwnName(x.request.host, knowsHost)) return `"${x.request.host}" is no name of this server`;
  if (!OWN_SITES.has(x.header('sec-fetch-site'))) return 'cross-site request refused';
  return hasForeignOrigin(x) ? 'cross-origin request refused' : undefined;
}

/** Returns why a request must not read anything: a page of another site sent it. Needs `SITE_HEADERS`. */
export function readRefusal(x: Exchange): string | undefined {
  if (x.header('sec-fetch-site') === 'cross-site') return 'cross-site request refused';
  return hasForeignOrigin(x) ? 'cross-origin request refused' : undefined;
}

/**
 * A page loaded by another scheme has another origin: an attacker in the network could have modified a page loaded over
 * HTTP.
 */
function hasForeignOrigin(x: Exchange): boolean {
  const origin = x.header('origin');
  return origin !== undefined && origin !== `${x.request.port.scheme}://${x.header('host') ?? ''}`;
}
