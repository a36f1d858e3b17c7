import { isIP } from 'node:net';
import type { Exchange } from './exchange.ts';
import { parseHost } from './uri.ts';

/** Request headers that tell whether a page had a browser send the request, and which page. */
export const SITE_HEADERS = ['host', 'origin', 'sec-fetch-site'] as const;

/** What browsers say of requests that a page of the gateway's own makes, or a person who types its address. */
const OWN_SITES: ReadonlySet<string | undefined> = new Set([undefined, 'same-origin', 'none']);

/** Whether a server is configured for a name. */
export type KnowsHost = (host: string) => boolean;

/**
 * Whether nobody but us decides where a name leads: a foreign name that leads here makes foreign pages ours (DNS rebinding).
 * An address is no name, and `localhost` never leaves the machine (RFC 6761, 6.3).
 */
export function isOwnName(host: string, knowsHost: KnowsHost): boolean {
  const address = host.startsWith('[') ? host.slice(1, -1) : host;
  if (isIP(address) !== 0 || host === 'localhost' || host.endsWith('.localhost')) return true;
  return parseHost(host) !== undefined && knowsHost(host);
}

/** Why a request must not change anything: a page from elsewhere may be behind it. Needs `SITE_HEADERS`. */
export function writeRefusal(x: Exchange, knowsHost: KnowsHost): string | undefined {
  if (!isOwnName(x.request.host, knowsHost)) return `"${x.request.host}" is no name of this server`;
  if (!OWN_SITES.has(x.header('sec-fetch-site'))) return 'cross-site request refused';
  return hasForeignOrigin(x) ? 'cross-origin request refused' : undefined;
}

/** Why a request must not be told anything: a page of another site asks. Needs `SITE_HEADERS`. */
export function readRefusal(x: Exchange): string | undefined {
  if (x.header('sec-fetch-site') === 'cross-site') return 'cross-site request refused';
  return hasForeignOrigin(x) ? 'cross-origin request refused' : undefined;
}

/** A page that came by another scheme is another origin: anybody on the way may have written it. */
function hasForeignOrigin(x: Exchange): boolean {
  const origin = x.header('origin');
  return origin !== undefined && origin !== `${x.request.port.scheme}://${x.header('host') ?? ''}`;
}
