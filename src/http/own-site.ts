import { isIP } from 'node:net';
import { hostname } from 'node:os';
import type { Exchange, Handler } from './exchange.ts';
import { parseHost } from './uri.ts';

/** The request headers that `writeRefusal` needs: they tell whether a page of another site sent the request. */
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

/** Top domains that the public DNS does not have and never will: RFC 6762, RFC 8375, and names that ICANN keeps back. */
const PRIVATE_DOMAINS = ['local', 'home.arpa', 'internal', 'corp', 'home', 'lan', 'svc'];
const MACHINE = hostname().toLowerCase();

/**
 * Tells whether no page of the internet can have this name: only whoever runs the network of this machine can make it lead here.
 * A request without a name does not come from a browser.
 */
function isNearName(host: string, knowsHost: KnowsHost): boolean {
  if (!host.includes('.') || host === MACHINE || isOwnName(host, knowsHost)) return true;
  return PRIVATE_DOMAINS.some((domain) => host.endsWith(`.${domain}`));
}

/** What a browser sends with each request; a page can change `Accept-Language`, but not leave it out. */
const BROWSER_HEADERS = ['accept-language', 'origin', 'referer', 'sec-fetch-mode', 'sec-fetch-site'] as const;

/** Gives why a request must not read anything; `undefined`: it may. */
type ReadGate = (x: Exchange) => string | undefined;

interface GateOptions {
  /** Who may use a name that is not this server's; nobody by default. Only a browser can be deceived by one. */
  readonly foreignNames?: 'of programs' | 'any';
}

/**
 * Compiles the gate of what operators read. No page in their browsers may read it: neither one of another site, nor one under a name
 * that leads here (DNS rebinding), which would be of the same origin.
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
  /** Sends 403 with what the gate says. */
  forbid(x: Exchange, reason: string): void;
  /** Sends 405; without it the status alone is sent. */
  refuseMethod?(x: Exchange): void;
}

/** Compiles a handler of GET and HEAD; where there are rules, of requests that the gate lets through. */
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
