import { isIP } from 'node:net';
import { hostname } from 'node:os';
import type { Exchange, Handler } from './exchange.ts';
import { parseHost } from './uri.ts';

/** The request headers that `writeRefusal` needs: they tell whether a page of another site sent the request. */
export const SITE_HEADERS = ['host', 'origin', 'sec-fetch-site'] as const;

/**
 * Values of `Sec-Fetch-Site` for requests from gw's own pages, from the address bar, and from clients other than
 * browsers.
 */
const OWN_SITES: ReadonlySet<string | undefined> = new Set([undefined, 'same-origin', 'none']);

/** Tells whether a server is configured for a name. */
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

/** Top-level domains that will never be in the public DNS: RFC 6762, RFC 8375, and names that ICANN has reserved. */
const PRIVATE_DOMAINS = ['local', 'home.arpa', 'internal', 'corp', 'home', 'lan', 'svc'];
const MACHINE = hostname().toLowerCase();

/**
 * Tells whether a name cannot belong to a page on the internet: only the operator of this network can make it resolve
 * to this machine. A request without a name does not come from a browser.
 */
function isNearName(host: string, knowsHost: KnowsHost): boolean {
  if (!host.includes('.') || host === MACHINE || isOwnName(host, knowsHost)) return true;
  return PRIVATE_DOMAINS.some((domain) => host.endsWith(`.${domain}`));
}

/** Headers that browsers send with each request. A page can change `Accept-Language`, but cannot omit it. */
const BROWSER_HEADERS = ['accept-language', 'origin', 'referer', 'sec-fetch-mode', 'sec-fetch-site'] as const;

/** Returns the reason why a request must not read anything, or `undefined` if it may. */
type ReadGate = (x: Exchange) => string | undefined;

interface GateOptions {
  /** Clients that may use a name other than this server's; default: none. Only browsers can be tricked into it. */
  readonly foreignNames?: 'of programs' | 'any';
}

/**
 * Compiles the check for reads of operators' pages. Pages in an operator's browser must not read them: neither pages of
 * other sites, nor pages of a foreign name that resolves to gw (DNS rebinding), which have the same origin.
 */
export function compileReadGate(
  build: { needHeader(name: string): void },
  knowsHost: KnowsHost,
  { foreignNames }: GateOptions = {},
): ReadGate {
  for (const name of [...SITE_HEADERS, ...BROWSER_HEADERS]) build.needHeader(name);
  return (x) => {
    const { host } = x.request;
    const isForeign = foreignNames !== 'any' && !isNearName(host, knowsHost);
    if (isForeign && (foreignNames === undefined || isOfBrowser(x)))
      return `"${host}" is no name of this server`;
    return siteRefusal(x);
  };
}

/** True for GET and HEAD. */
export function isRead({ method }: Exchange): boolean {
  return method === 'GET' || method === 'HEAD';
}

interface ReadRules {
  readonly gate: ReadGate;
  /** Sends 403 with the reason of the gate. */
  forbid(x: Exchange, reason: string): void;
  /** Sends 405. Absent: the status alone is sent. */
  refuseMethod?(x: Exchange): void;
}

/** Compiles a handler for GET and HEAD. If there are rules, it serves only the requests that the gate admits. */
export function compileRead(serve: Handler, rules?: ReadRules): Handler {
  const refuseMethod = rules?.refuseMethod ?? ((x) => x.end(405));
  return (x) => {
    if (!isRead(x)) {
      x.response.setHeader('Allow', 'GET, HEAD');
      return refuseMethod(x);
    }
    const refusal = rules?.gate(x);
    return refusal === undefined ? serve(x) : rules?.forbid(x, refusal);
  };
}

function isOfBrowser(x: Exchange): boolean {
  return BROWSER_HEADERS.some((name) => x.header(name) !== undefined);
}

/** Returns why a request must not change anything: a page of another site may have sent it. Needs `SITE_HEADERS`. */
export function writeRefusal(x: Exchange, knowsHost: KnowsHost): string | undefined {
  if (!isOwnName(x.request.host, knowsHost)) return `"${x.request.host}" is no name of this server`;
  if (!OWN_SITES.has(x.header('sec-fetch-site'))) return 'cross-site request refused';
  return hasForeignOrigin(x) ? 'cross-origin request refused' : undefined;
}

function siteRefusal(x: Exchange): string | undefined {
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
