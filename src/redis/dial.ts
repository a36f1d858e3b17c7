import { lookup } from 'node:dns';
import { createConnection, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect } from 'node:tls';
import { type AddressRule, admits, HostRefused } from '../upstream/index.ts';
import type { Endpoint } from './address.ts';

const KEEP_ALIVE_MS = 30_000;

/**
 * Opens a socket and starts to connect; `connected` is called when it can be used, after the TLS handshake if the endpoint uses
 * TLS.
 */
export function dial(endpoint: Endpoint, connected: () => void): Socket {
  const { tls } = endpoint;
  const to = endpoint.kind === 'unix' ? { path: endpoint.path } : inetOptions(endpoint);
  const socket = tls ? connect(to) : createConnection(to);
  return socket
    .setNoDelay(true)
    .setKeepAlive(true, KEEP_ALIVE_MS)
    .once(tls ? 'secureConnect' : 'connect', connected);
}

function inetOptions({ host, port, tls, within }: Extract<Endpoint, { readonly kind: 'inet' }>): {
  readonly host: string;
  readonly port: number;
  readonly lookup?: LookupFunction;
  readonly servername?: string;
} {
  return {
    host,
    port,
    ...(within && { lookup: lookupWithin(within, port) }),
    // An address is no name (RFC 6066, 3).
    ...(tls && isIP(host) === 0 && { servername: host }),
  };
}

/** Gives a lookup function that fails unless all addresses of the host are allowed. Each lookup may give other addresses. */
function lookupWithin(rule: AddressRule, port: number): LookupFunction {
  return (host, options, found) =>
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error) return found(error, []);
      const [first] = addresses;
      if (!first || !addresses.every(({ address }) => admits(rule, address, port)))
        return found(new HostRefused(host), []);
      if (options.all) found(null, addresses);
      else found(null, first.address, first.family);
    });
}
