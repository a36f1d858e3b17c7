import type { ComplexValue } from '../config/index.ts';

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
