import { lookup } from 'node:dns';
import { createConnection, isIP, type LookupFunction, type Socket } from 'node:net';
import {
  checkServerIdentity,
  connect,
  type ConnectionOptions,
  type DetailedPeerCertificate,
  type PeerCertificate,
} from 'node:tls';
import { contextOptions, intermediatesOf, verifyError } from '../system/index.ts';
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
  const { verify, verifyDepth, sendsName = true } = endpoint;
  const name = endpoint.servername ?? (endpoint.kind === 'inet' ? endpoint.host : undefined);
  return {
    ...contextOptions(endpoint),
    ...(verify !== undefined && { rejectUnauthorized: verify }),
    // Called after the chain has been verified.
    checkServerIdentity: (host, certificate) =>
      identityFault(certificate, { name: name ?? host, verifyDepth }),
    // An IP address is not sent as a server name (RFC 6066, 3).
    ...(name !== undefined && sendsName && isIP(name) === 0 && { servername: name }),
  };
}

/** Returns the fault of a certificate whose chain is trusted. */
function identityFault(
  certificate: PeerCertificate,
  { name, verifyDepth = Infinity }: { readonly name: string; readonly verifyDepth: number | undefined },
): Error | undefined {
  // Node.js gives the whole chain, contrary to its types.
  if (intermediatesOf(certificate as DetailedPeerCertificate) > verifyDepth)
    return Object.assign(new Error(), { code: 'CERT_CHAIN_TOO_LONG' });
  return checkServerIdentity(name, certificate);
}

/** The reason if a store accepts a connection but the TLS handshake does not end, as with a store without TLS. */
export const NO_HANDSHAKE = 'it accepts connections but does not answer the TLS handshake';

/** The alert that says so may be lost with the connection: in TLS 1.3 the client's handshake ends before the store's. */
const CLOSED_AFTER_HANDSHAKE =
  'closed after the TLS handshake, as by a store that wants another client certificate';

/**
 * Returns the reason why there is no connection, with what OpenSSL says about TLS. `isLogin`: the TLS handshake has ended,
 * but not the login.
 */
export function reasonOf(
  error: NodeJS.ErrnoException & { readonly reason?: string },
  isLogin = false,
): string {
  const { message, code = '', name, reason = '' } = error;
  if (isLogin && (code === 'ECONNRESET' || code === 'EPIPE')) return CLOSED_AFTER_HANDSHAKE;
  const { number, message: words } = verifyError(code);
  if (words !== code) return `SSL certificate verify error: (${number}:${words})`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `SSL certificate does not match: ${reason}`;
  if (code.startsWith('ERR_SSL_')) return `SSL handshake failed (${reason})`;
  // If all addresses of a host failed, the error has only a code.
  return message || code || name;
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
