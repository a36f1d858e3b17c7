import { lookup } from 'node:dns';
import { createConnection, isIP, type LookupFunction, type Socket } from 'node:net';
import { checkServerIdentity, connect, type ConnectionOptions } from 'node:tls';
import { type AddressRule, admits, HostRefused } from '../upstream/index.ts';
import type { Endpoint } from './address.ts';

export const KEEP_ALIVE_MS = 30_000;

/**
 * Opens a socket and starts to connect. `connected` is called when the socket can be used: after the TLS handshake, if
 * the endpoint uses TLS.
 */
export function dial(endpoint: Endpoint, connected: () => void): Socket {
  const to = endpoint.kind === 'unix' ? { path: endpoint.path } : inetOptions(endpoint);
  const socket = endpoint.tls ? connect({ ...to, ...tlsOptions(endpoint) }) : createConnection(to);
  return socket
    .setNoDelay(true)
    .setKeepAlive(true, KEEP_ALIVE_MS)
    .once(endpoint.tls ? 'secureConnect' : 'connect', connected);
}

function inetOptions({ host, port, within }: Extract<Endpoint, { readonly kind: 'inet' }>): {
  readonly host: string;
  readonly port: number;
  readonly lookup?: LookupFunction;
} {
  return { host, port, ...(within && { lookup: lookupWithin(within, port) }) };
}

/** Returns the TLS options for an endpoint. */
export function tlsOptions(endpoint: Endpoint): ConnectionOptions {
  const { ca, cert, key, verify } = endpoint;
  const name = endpoint.servername ?? (endpoint.kind === 'inet' ? endpoint.host : undefined);
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(verify !== undefined && { rejectUnauthorized: verify }),
    ...(name !== undefined && {
      checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate),
    }),
    // An IP address is not sent as a server name (RFC 6066, 3).
    ...(name !== undefined && isIP(name) === 0 && { servername: name }),
  };
}

/** Returns a lookup function that fails unless all addresses of the host are allowed; they may change any time. */
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
