import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import type { ServerTarget } from './plan.ts';

/** `sun_path` has 108 bytes, the last of them 0. */
const MAX_UNIX_PATH = 107;

/** nginx's words for what is wrong with an address; a message continues with `in upstream "…"`. */
export type AddressFault =
  | 'no host'
  | 'invalid host'
  | 'invalid port'
  | 'invalid IPv6 address'
  | 'no path in the unix domain socket'
  | 'too long path in the unix domain socket';

/** Reads `host`, `host:port`, `[IPv6]:port` or `unix:path` (nginx: ngx_parse_url). */
export function readServerAddress(text: string, defaultPort: number): ServerTarget | AddressFault {
  if (/^unix:/i.test(text)) return readUnix(text.slice('unix:'.length));
  return text.startsWith('[') ? readIpv6(text, defaultPort) : readHost(text, defaultPort);
}

/** As `$upstream_addr` shows it: `127.0.0.1:80`, `[::1]:80` (nginx: ngx_sock_ntop). */
export function addressOf(ip: string, port: number): string {
  if (isIPv4(ip)) return `${ip}:${port}`;
  return `[${new SocketAddress({ address: ip, family: 'ipv6' }).address}]:${port}`;
}

function readUnix(path: string): ServerTarget | AddressFault {
  if (path === '') return 'no path in the unix domain socket';
  if (Buffer.byteLength(path) > MAX_UNIX_PATH) return 'too long path in the unix domain socket';
  return { kind: 'unix', path };
}

function readIpv6(text: string, defaultPort: number): ServerTarget | AddressFault {
  const [, ip, rest = ''] = /^\[(.*?)\](.*)$/s.exec(text) ?? [];
  if (ip === undefined || !/^(?::|$)/.test(rest)) return 'invalid host';
  const port = rest === '' ? defaultPort : readPort(rest.slice(1));
  if (port === undefined) return 'invalid port';
  if (ip === '') return 'no host';
  return isIPv6(ip) ? { kind: 'address', address: addressOf(ip, port) } : 'invalid IPv6 address';
}

function readHost(text: string, defaultPort: number): ServerTarget | AddressFault {
  if (/[/?]/.test(text)) return 'invalid host';
  const colon = text.indexOf(':');
  const host = colon < 0 ? text : text.slice(0, colon);
  const port = colon < 0 ? defaultPort : readPort(text.slice(colon + 1));
  if (port === undefined) return 'invalid port';
  if (host === '') return 'no host';
  return isIPv4(host) ? { kind: 'address', address: addressOf(host, port) } : { kind: 'name', host, port };
}

function readPort(text: string): number | undefined {
  const port = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}
