import type {
  CoreConfig,
  HttpEngine,
  ListenAddress,
  LocationMatch,
  ServerName,
  WrittenFiles,
} from '../contract/index.ts';
import type { CachePlan } from '../cache/index.ts';
import type { ClusterPlan } from '../cluster/index.ts';
import type { HealthPlan } from '../health/index.ts';
import type { UpstreamPlan } from '../upstream/index.ts';
import type { ZoneDeclaration } from '../zone/index.ts';
import type { TlsPlan } from './tls/index.ts';

/** The configs of the modules that a location uses, by module name. */
export type ModuleConfigs = Readonly<Record<string, object>>;

/** A location with its nested locations in file order, or the server level itself (`match` absent). */
export interface LocationPlan {
  readonly match?: LocationMatch;
  /** `file:line`. */
  readonly place: string;
  readonly core: CoreConfig;
  readonly modules: ModuleConfigs;
  readonly locations: readonly LocationPlan[];
  /** Absent if there are none. */
  readonly blocks?: readonly NamelessPlan[];
}

/** A block that replaces the enclosing location for some of its requests. */
export interface NamelessPlan {
  readonly kind: 'if' | 'limit_except';
  /** Index among the directives of the location. */
  readonly nth: number;
  /** The arguments of the block: for `limit_except`, the methods that stay with the location. */
  readonly args: unknown;
  /** The plan of the block, with the `match` of the enclosing location. */
  readonly plan: LocationPlan;
}

/** A virtual server. */
export interface ServerPlan {
  /** The first name: `$server_name`. */
  readonly name: string;
  readonly names: readonly ServerName[];
  readonly root: LocationPlan;
  /** Named locations, which only a server may have. */
  readonly named: readonly LocationPlan[];
  /** Absent if the server has no certificate and does not reject handshakes. */
  readonly tls?: TlsPlan;
}

/** A socket to listen on, and the indexes of its servers. */
export interface PortPlan {
  readonly address: ListenAddress;
  readonly servers: readonly number[];
  readonly defaultServer: number;
  /** `auto`: uWebSockets.js where it loads. */
  readonly engine: HttpEngine['engine'];
  /** What keeps a port with TLS from uWebSockets.js, though the operator asked for it, with its place. */
  readonly nodeOnly?: string;
  readonly ssl: boolean;
  readonly proxyProtocol: boolean;
  /** Absent: the port serves HTTP/1 only. */
  readonly http2?: Http2Rules | undefined;
  /** The rules of its default server. */
  readonly head: HeadRules;
  /** The highest limits of the servers of the port. */
  readonly headLimits: HeadLimits;
  /** The rules of each of `servers`; absent if they are all the same. */
  readonly heads?: readonly HeadRules[] | undefined;
}

/** The rules of HTTP/2 connections of a port: those of its default server (nginx). */
export interface Http2Rules {
  /** The servers that speak HTTP/2: all of them if one `listen` of the port enables it. */
  readonly servers: readonly number[];
  readonly maxStreams: number;
  /** Bytes of a request body that a client may send before they are read. */
  readonly windowBytes: number;
}

/** Limits for the head of a request. */
export interface HeadLimits {
  readonly lineBytes: number;
  /** Most bytes of all header lines together. */
  readonly bytes: number;
  readonly maxHeaders: number;
}

/**
 * A server's rules for reading the head of a request. Until a client has named its server, the rules of the default
 * server apply, or those of the server that the handshake names (nginx).
 */
export interface HeadRules extends HeadLimits {
  /** Most bytes of one field of HTTP/2, and of all of them: such a head has no first buffer (nginx). */
  readonly fieldBytes: number;
  readonly fieldsBytes: number;
  readonly timeoutMs: number;
  /** True: headers with an underscore in their name are accepted. */
  readonly underscores: boolean;
  /** True: headers whose names have characters other than letters, digits and hyphens are dropped. */
  readonly ignoresInvalid: boolean;
  readonly mergeSlashes: boolean;
}

/** The variables that the configuration defines. */
export interface VariablePlan {
  /** The slot of each variable. */
  readonly slots: Readonly<Record<string, number>>;
  /** Variables that only `set` defines. */
  readonly assigned: Readonly<Record<string, true>>;
  /** Variables that are named captures of a regular expression. */
  readonly captured: Readonly<Record<string, true>>;
  readonly used: readonly string[];
}

/** The plan of the process as a whole. */
export interface MainPlan {
  /** Absolute paths that are written while requests are served. */
  readonly written: Required<WrittenFiles>;
  readonly core: CoreConfig;
  readonly workers: number;
  /** `metrics_buckets`: in seconds. */
  readonly metricsBuckets?: readonly number[];
  /** Maximum number of client connections of a worker; default: as many as descriptors allow. */
  readonly connections: number | undefined;
  readonly prefix: string;
  readonly confFile: string;
  readonly version: string;
  /** Identifies the text of the configuration. */
  readonly digest: string;
}

/** The validated configuration as plain, frozen, cloneable data. The master makes it and each worker compiles it. */
export interface GatewayPlan {
  readonly main: MainPlan;
  readonly ports: readonly PortPlan[];
  readonly servers: readonly ServerPlan[];
  readonly upstreams: readonly UpstreamPlan[];
  readonly caches: readonly CachePlan[];
  readonly clusters: readonly ClusterPlan[];
  /** The active checks of groups. */
  readonly health: HealthPlan;
  readonly zones: readonly ZoneDeclaration[];
  readonly variables: VariablePlan;
  /** True if a location shows request counts by location. */
  readonly countsRequests: boolean;
  /** True if a location logs what the time of requests goes on. */
  readonly keepsPhases: boolean;
}
