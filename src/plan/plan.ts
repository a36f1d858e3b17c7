import type {
  CoreConfig,
  ListenAddress,
  LocationMatch,
  ServerName,
  WrittenFiles,
} from '../contract/index.ts';
import type { UpstreamPlan } from '../upstream/index.ts';
import type { ZoneDeclaration } from '../zone/index.ts';
import type { TlsPlan } from './tls/index.ts';

/** A location's config of each module, by module name: only modules that this location uses. */
export type ModuleConfigs = Readonly<Record<string, object>>;

/** One location, or the server level itself (`match` absent), with its nested locations in file order. */
export interface LocationPlan {
  readonly match?: LocationMatch;
  /** `file:line`. */
  readonly place: string;
  readonly core: CoreConfig;
  readonly modules: ModuleConfigs;
  readonly locations: readonly LocationPlan[];
  /** Absent in a location without any. */
  readonly blocks?: readonly NamelessPlan[];
}

/** A block that takes the place of the location around it for some of its requests. */
export interface NamelessPlan {
  readonly kind: 'if' | 'limit_except';
  /** Its place among the directives of the location. */
  readonly nth: number;
  /** What the block's own words mean: for `limit_except`, the methods that stay with the location. */
  readonly args: unknown;
  /** With the `match` of the location around it. */
  readonly plan: LocationPlan;
}

/** A virtual server. */
export interface ServerPlan {
  /** The first name: `$server_name`. */
  readonly name: string;
  readonly names: readonly ServerName[];
  readonly root: LocationPlan;
  /** `@name` locations; they may stand in the server only. */
  readonly named: readonly LocationPlan[];
  /** Absent where the server has no certificate and refuses no handshakes. */
  readonly tls?: TlsPlan;
}

/** A socket to listen on, and the servers behind it by their index. */
export interface PortPlan {
  readonly address: ListenAddress;
  readonly servers: readonly number[];
  readonly defaultServer: number;
  /** `auto`: uWebSockets.js where it loads. */
  readonly engine: 'auto' | 'uws' | 'node';
  readonly ssl: boolean;
  readonly proxyProtocol: boolean;
  readonly head: HeadRules;
}

/**
 * How the head of a request is read. It holds before the server is known: the default server's (nginx), for sizes the widest
 * of the port's servers.
 */
export interface HeadRules {
  readonly lineBytes: number;
  /** Of all header lines together. */
  readonly bytes: number;
  readonly timeoutMs: number;
  /** Headers with an underscore in their name count. */
  readonly underscores: boolean;
  /** Headers whose name has other characters than letters, digits and hyphens are dropped, else kept. */
  readonly ignoresInvalid: boolean;
  readonly maxHeaders: number;
}

/** What configuration texts say of variables. */
export interface VariablePlan {
  /** Slot of each variable that the configuration itself defines. */
  readonly slots: Readonly<Record<string, number>>;
  /** Those of them that nothing but `set` defines. */
  readonly assigned: Readonly<Record<string, true>>;
  /** Those that a regular expression fills with what it matches. */
  readonly captured: Readonly<Record<string, true>>;
  readonly used: readonly string[];
}

/** Everything the process itself needs. */
export interface MainPlan {
  /** Absolute paths of what is written while requests are served. */
  readonly written: Required<WrittenFiles>;
  readonly core: CoreConfig;
  readonly workers: number;
  /** Most clients of a worker; absent: as many as descriptors allow. */
  readonly connections: number | undefined;
  readonly prefix: string;
  readonly confFile: string;
  readonly version: string;
}

/** The validated configuration: plain, frozen, cloneable. The master makes it, each worker compiles it. */
export interface GatewayPlan {
  readonly main: MainPlan;
  readonly ports: readonly PortPlan[];
  readonly servers: readonly ServerPlan[];
  readonly upstreams: readonly UpstreamPlan[];
  readonly zones: readonly ZoneDeclaration[];
  readonly variables: VariablePlan;
  /** Some location shows request counts by location. */
  readonly countsRequests: boolean;
}
