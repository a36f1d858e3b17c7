import type { Build } from '../../contract/index.ts';
import { encodeLocation, type Exchange } from '../../http/index.ts';
import { isLoopback } from '../../issuer/index.ts';

/** How clients see the host that they ask. */
export interface Site {
  /** For example `https://app.example:8443`. */
  readonly origin: string;
  /** False on a loopback address without TLS: a browser keeps a `Secure` cookie there to itself. */
  readonly isSecure: boolean;
}

const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Compiles how clients see a host: by the URL that the configuration names, which may be that of a server in front, or else
 * by the request. A client that names another host gets no further: the provider knows the URLs to which it may send clients.
 */
export function compileSite(redirectUri: string, build: Build): (x: Exchange) => Site {
  if (!redirectUri.startsWith('/')) {
    const site = siteOf(new URL(redirectUri).origin);
    return () => site;
  }
  build.needHeader('host');
  return ({ request: { authority = '', hostHeader = '', host, port } }) => {
    const named = authority === '' ? hostHeader : authority;
    return siteOf(`${port.scheme}://${HOST.test(named) ? named.toLowerCase() : host || port.address}`);
  };
}

function siteOf(origin: string): Site {
  const isPlain = origin.startsWith('http:') && URL.canParse(origin) && isLoopback(new URL(origin).hostname);
  return { origin, isSecure: !isPlain };
}

/** Returns the URL of a path on a site; a URL stays as it is. */
export function absoluteUrl(pathOrUrl: string, { origin }: Site): string {
  return pathOrUrl.startsWith('/') ? origin + pathOrUrl : pathOrUrl;
}

/** Longest target that a login remembers: it is kept in a cookie, and a cookie has at most 4096 bytes. */
const MOST_TARGET_BYTES = 1_500;

/**
 * Returns the target that a client gets back to after its login: the path and query that it asked for, on this host.
 * Browsers take `//host` and, since they read `\` as `/`, `/\host` for another host, and leave out tabs and line ends
 * before they read.
 */
export function returnTarget(requestUri: string): string {
  // eslint-disable-next-line no-control-regex -- control bytes are what it looks for
  if (!/^\/(?!\/)[^\\\0-\x20\x7f]*$/.test(requestUri)) return '/';
  const target = encodeLocation(requestUri);
  const [path = ''] = target.split('?', 1);
  return [target, path].find(({ length }) => length <= MOST_TARGET_BYTES) ?? '/';
}
