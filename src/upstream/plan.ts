import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import type { ComplexValue } from '../config/index.ts';
import type { PeersDeclaration } from '../zone/index.ts';

/** `server` of an `upstream` block; plain data. */
export interface ServerConfig {
  /** As written: `backend.example:8080`, `unix:/run/app.sock`. Messages and the consistent hash use it. */
  readonly name: string;
  /** `file:line`. */
  readonly place: string;
  readonly target: ServerTarget;
  readonly weight: number;
  /** Requests at one time over all workers; 0: as many as come. */
  readonly maxConnections: number;
  /** Failures after which the peers are left alone for `failTimeoutSeconds`; 0: never. */
  readonly maxFails: number;
  readonly failTimeoutSeconds: number;
  readonly backup: boolean;
  readonly down: boolean;
  /** Asked for again when its time to live is over; `service` asks for SRV records. */
  readonly resolve?: { readonly service?: string };
}

/** Where a server is. */
export type ServerTarget =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'name'; readonly host: string; readonly port: number };

/** Which peer is next. */
export type Balancing =
  | { readonly kind: 'round robin' }
  | { readonly kind: 'least_conn' }
  | { readonly kind: 'ip_hash' }
  | { readonly kind: 'hash'; readonly key: ComplexValue; readonly consistent: boolean }
  | { readonly kind: 'random'; readonly two: boolean };

/** What an upstream says of its idle connections. `connections` absent: whoever opens them decides. */
export interface KeepaliveConfig {
  /** Idle connections that one worker keeps. */
  readonly connections?: number;
  /** Requests on one connection. */
  readonly requests: number;
  /** Longest life of a connection. */
  readonly timeMs: number;
  /** Longest idle time of a connection. */
  readonly timeoutMs: number;
}

/** `resolver`. */
export interface ResolverConfig {
  /** Addresses, or names that are looked up first. */
  readonly servers: readonly { readonly host: string; readonly port: number }[];
  /** Takes the place of the records' own time to live. */
  readonly validMs?: number;
  readonly ipv4: boolean;
  readonly ipv6: boolean;
}

/** An `upstream` block, or a host that the configuration names where an upstream could stand (`implicit`). */
export interface UpstreamPlan {
  /** Of the block, or `host` / `host:port` as written. */
  readonly name: string;
  /** What it is found by: see `upstreamKey`. */
  readonly key: string;
  readonly implicit: boolean;
  readonly servers: readonly ServerConfig[];
  readonly balancing: Balancing;
  readonly keepalive: KeepaliveConfig;
  readonly resolver?: ResolverConfig;
  readonly resolverTimeoutMs: number;
}

/** `sun_path` has 108 bytes, the last of them 0. */
const MAX_UNIX_PATH = 107;

/** nginx's words for what is wrong with an address; a message continues with `in upstream "…"`. */
type AddressFault =
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

/** Addresses that a name may have before a worker keeps what it knows of the others to itself. */
const NAME_ADDRESSES = 8;
const RESOLVED_ADDRESSES = 32;

/** A few more workers do not make gw forget what it knows of peers. */
const THREADS_STEP = 16;

/** The shared memory of a group: twice the room, for two configurations share it while one follows the other. */
export function upstreamZone(plan: UpstreamPlan, workers: number): PeersDeclaration {
  const slots = 2 * plan.servers.reduce((sum, server) => sum + addressesOf(server), 0);
  const threads = THREADS_STEP * Math.ceil((workers + 1) / THREADS_STEP);
  return { name: upstreamZoneName(plan), kind: 'peers', slots, threads };
}

/** The name of that memory. */
export function upstreamZoneName({ key, implicit }: UpstreamPlan): string {
  return implicit ? `server ${key}` : `upstream ${key}`;
}

function addressesOf({ target, resolve }: ServerConfig): number {
  if (target.kind !== 'name') return 1;
  return resolve ? RESOLVED_ADDRESSES : NAME_ADDRESSES;
}
