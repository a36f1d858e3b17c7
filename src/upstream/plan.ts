import { createHash } from 'node:crypto';
import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import type { ComplexValue } from '../config/index.ts';
import type { DictionaryDeclaration, PeersDeclaration, SharedTextDeclaration } from '../zone/index.ts';

/** `server` of an `upstream` block; plain data. */
export interface ServerConfig {
  /** As written: `backend.example:8080`, `unix:/run/app.sock`. Used in messages and by the consistent hash. */
  readonly name: string;
  /** `file:line`. */
  readonly place: string;
  readonly target: ServerTarget;
  readonly weight: number;
  /** Limit of concurrent requests over all workers; 0: none. */
  readonly maxConnections: number;
  /** Number of failures after which a peer is unavailable for `failTimeoutSeconds`; 0: never. */
  readonly maxFails: number;
  readonly failTimeoutSeconds: number;
  readonly backup: boolean;
  readonly down: boolean;
  /** Only requests that are bound to the server reach it. */
  readonly drain: boolean;
  /** The time in which the share of a server that is available again grows to its weight; 0: at once. */
  readonly slowStartMs: number;
  /** Identifies the server in `sticky`; by default the MD5 of its address. */
  readonly route?: string;
  /** Set if the name is looked up again when its time to live is over; `service` looks up SRV records. */
  readonly resolve?: { readonly service?: string };
}

/** The address of a server. */
export type ServerTarget =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'name'; readonly host: string; readonly port: number };

/** The balancing method. */
export type Balancing =
  | { readonly kind: 'round robin' }
  | { readonly kind: 'least_conn' }
  | { readonly kind: 'ip_hash' }
  | { readonly kind: 'hash'; readonly key: ComplexValue; readonly consistent: boolean }
  | { readonly kind: 'least_time'; readonly by: MeasuredTime; readonly inflight: boolean }
  | { readonly kind: 'random'; readonly two?: 'least_conn' | MeasuredTime };

/** Returns a balancing method in the words of its directive. */
export function methodText(balancing: Balancing): string {
  switch (balancing.kind) {
    case 'round robin':
      return 'round_robin';
    case 'hash':
      return balancing.consistent ? 'hash consistent' : 'hash';
    case 'least_time':
      return `least_time ${balancing.by}${balancing.inflight ? ' inflight' : ''}`;
    case 'random': {
      const { two } = balancing;
      if (two === undefined) return 'random';
      return `random two ${two === 'least_conn' ? two : `least_time=${two}`}`;
    }
    case 'least_conn':
    case 'ip_hash':
      return balancing.kind;
  }
}

/** The time that `least_time` measures: to the head of a response, or to its last byte. */
export type MeasuredTime = 'header' | 'last_byte';

/** How requests are bound to peers (`sticky`, `upstream_balancer_sticky_…`); plain data. */
export type Sticky = CookieSticky | RouteSticky | LearnSticky | KeySticky;

/** `sticky cookie`: the cookie holds the id of the peer. */
interface CookieSticky {
  readonly kind: 'cookie';
  readonly name: string;
  /** Lifetime in seconds; absent: the browser's session. */
  readonly expires?: number | 'max';
  readonly domain?: ComplexValue;
  readonly path?: string;
  readonly sameSite?: ComplexValue;
  readonly httpOnly: boolean;
  readonly secure: boolean;
}

/** `sticky route`: the first value that is not empty is the id. */
interface RouteSticky {
  readonly kind: 'route';
  readonly values: readonly ComplexValue[];
}

/** `sticky learn`: sessions, and the id of the peer that created each, are kept in a zone. */
interface LearnSticky {
  readonly kind: 'learn';
  readonly create: readonly ComplexValue[];
  readonly lookup: readonly ComplexValue[];
  readonly zone: string;
  readonly sizeBytes: number;
  readonly timeoutMs: number;
  /** Sessions are learnt when the head of the response arrives, not at its end. */
  readonly atHead: boolean;
  /** The gateways of the only cluster share them. */
  readonly isShared: boolean;
}

/** `upstream_balancer_sticky_…`: a cookie or header names the peer as `peer:ADDRESS`, or is hashed. */
interface KeySticky {
  readonly kind: 'key';
  readonly from: 'cookie' | 'header';
  readonly name: string;
  /** Without a usable peer the response is 502. */
  readonly isStrict: boolean;
  readonly issuesCookie: boolean;
  /** The attributes of an issued cookie. */
  readonly attributes: string;
}

/** How active checks take part in the selection; plain data. */
export interface ProbingConfig {
  /** If fewer peers than this part are healthy, the results of checks are ignored; 0: never. */
  readonly panicPercent: number;
  /** As `slow_start` of the servers that have none. */
  readonly slowStartMs: number;
}

/** The `keepalive` settings of an upstream. Without `connections`, the module that opens connections decides. */
export interface KeepaliveConfig {
  /** Number of idle connections per worker. */
  readonly connections?: number;
  /** Number of requests on one connection. */
  readonly requests: number;
  /** Longest life of a connection. */
  readonly timeMs: number;
  /** Longest idle time of a connection. */
  readonly timeoutMs: number;
}

/** The `resolver` directive. */
export interface ResolverConfig {
  /** Addresses, or names that are looked up first. */
  readonly servers: readonly { readonly host: string; readonly port: number }[];
  /** Overrides the time to live of records. */
  readonly validMs?: number;
  readonly ipv4: boolean;
  readonly ipv6: boolean;
}

/** An `upstream` block, or a literal host used in place of one (`implicit`). */
export interface UpstreamPlan {
  /** The block's name, or `host` / `host:port` as written. */
  readonly name: string;
  /** Identifies it: see `upstreamKey`. */
  readonly key: string;
  readonly implicit: boolean;
  readonly servers: readonly ServerConfig[];
  readonly balancing: Balancing;
  readonly sticky?: Sticky;
  /** Present if the group has active checks. */
  readonly probing?: ProbingConfig;
  /** Number of peers that the group has room for if its members may change while it serves. */
  readonly managedPeers?: number;
  readonly keepalive: KeepaliveConfig;
  readonly resolver?: ResolverConfig;
  readonly resolverTimeoutMs: number;
  /** A directive that the group needs and gw does not support: its requests get 501 (`compat skip`). */
  readonly skipped?: string;
}

/** `sun_path` has 108 bytes, the last of them 0. */
const MAX_UNIX_PATH = 107;

/** nginx's messages for invalid addresses; they continue with `in upstream "…"`. */
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

/** Returns an address as in `$upstream_addr`: `127.0.0.1:80`, `[::1]:80` (nginx: ngx_sock_ntop). */
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

/**
 * Number of addresses of a name for which the shared memory has room; the state of further peers is private to each
 * worker.
 */
const NAME_ADDRESSES = 8;
const RESOLVED_ADDRESSES = 32;

/** The number of servers with `resolve` is rounded up. */
const RESOLVED_STEP = 4;

/** The number of threads is rounded up, so that a few more workers do not lose the state of peers. */
const THREADS_STEP = 16;

/** The number of peers of a block is rounded up, so that a few more servers do not cost the others their state. */
const SLOTS_STEP = 16;

/** The longest text of one peer: its address, its numbers and its place among those that drain. */
const PEER_BYTES = 512;
/** Bytes for the facts about a group as a whole. */
const FACTS_BYTES = 1024;

/**
 * Returns the shared memory of a group. It has room for twice its peers, since two configurations use it during a
 * reload.
 */
export function upstreamZone(plan: UpstreamPlan, workers: number): PeersDeclaration {
  const configured = plan.servers.reduce((sum, server) => sum + addressesOf(server), 0);
  const needed = 2 * Math.max(configured, plan.managedPeers ?? 0);
  const slots = plan.implicit ? needed : SLOTS_STEP * Math.ceil(needed / SLOTS_STEP);
  const threads = THREADS_STEP * Math.ceil((workers + 1) / THREADS_STEP);
  return { name: upstreamZoneName(plan), kind: 'peers', slots, threads };
}

/** Returns the name of a group's shared memory. */
export function upstreamZoneName({ key, implicit }: UpstreamPlan): string {
  return implicit ? `server ${key}` : `upstream ${key}`;
}

/**
 * Returns the shared memory of the members of a group. Its name changes with the configured servers: edited servers must
 * take effect, and a reload that fails must not change the present members. `isShared`: the gateways of a cluster share the
 * members, so that an upgrade does not carry them.
 */
export function membershipZone(plan: UpstreamPlan, isShared = false): SharedTextDeclaration | undefined {
  const { key, managedPeers: room, servers } = plan;
  if (room === undefined) return undefined;
  const name = `members ${key} ${configuredDigest(plan)}`;
  const zone = { name, kind: 'shared text', bytes: textBytes(room) } as const;
  if (isShared) return zone;
  const sockets = servers.flatMap(({ target }) => (target.kind === 'unix' ? `unix:${target.path}` : []));
  return { ...zone, carried: { room, sockets } };
}

/**
 * Returns the shared memory of the addresses of the servers with `resolve`; `undefined` without such servers. A few more
 * servers do not change its size, so its content is kept.
 */
export function addressesZone({ key, servers }: UpstreamPlan): SharedTextDeclaration | undefined {
  const count = servers.filter(({ resolve }) => resolve).length;
  if (count === 0) return undefined;
  const peers = RESOLVED_STEP * NAME_ADDRESSES * Math.ceil(count / RESOLVED_STEP);
  return { name: `addresses ${key}`, kind: 'shared text', bytes: textBytes(peers) };
}

/** Returns the length of the longest text about so many peers. */
function textBytes(peers: number): number {
  return FACTS_BYTES + peers * PEER_BYTES;
}

/** Identifies the servers of a block as they are written. */
export function configuredDigest({ servers }: UpstreamPlan): string {
  const written = servers.map((server) => ({ ...server, place: '' }));
  return createHash('sha256').update(JSON.stringify(written)).digest('hex').slice(0, 16);
}

/** Returns the shared memory of the sessions of `sticky learn`. */
export function sessionsZone({ zone, sizeBytes, isShared }: LearnSticky): DictionaryDeclaration {
  return { name: `sticky ${zone}`, kind: 'dictionary', sizeBytes, ...(isShared && { isShared }) };
}

function addressesOf({ target, resolve }: ServerConfig): number {
  if (target.kind !== 'name') return 1;
  return resolve ? RESOLVED_ADDRESSES : NAME_ADDRESSES;
}
