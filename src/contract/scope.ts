import type { Severity } from '../../grammar/index.ts';
import type { ErrorLog, LogListeners } from '../log/index.ts';
import type { Account } from '../system/index.ts';
import type { PeerView, Upstreams } from '../upstream/index.ts';
import type { Counters, ZoneDeclaration } from '../zone/index.ts';

/**
 * Whether something that locations depend on can be used: `undefined`, or why not, in words for the operator and without
 * secrets or paths. Whoever calls it bounds how often, and how long it may take.
 */
export type Check = () => Promise<string | undefined>;

/** A configuration as it was read, secrets masked. */
export interface ConfigText {
  /** The main file first, then those it includes, in the order of reading. */
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly findings: readonly Finding[];
}

/** What a load has to say about a place. */
export interface Finding {
  readonly severity: Severity;
  readonly message: string;
  readonly hint?: string;
  /** Absent: it is about the configuration as a whole. Lines and columns count from 1. */
  readonly place?: { readonly file: string; readonly line: number; readonly column: number };
}

/** The configuration as an operator looks at it: where requests go, and what lies behind. */
export interface GatewayView {
  readonly servers: readonly ServerView[];
  /** `upstream` blocks, their peers as they are at this moment. */
  readonly upstreams: readonly { readonly name: string; readonly peers: readonly PeerView[] }[];
  readonly zones: readonly ZoneDeclaration[];
  /** Some server is configured for this name, exactly or by a wildcard; regex names do not count. */
  knowsHost(host: string): boolean;
  /** Asks the compiled locations what would answer; nothing is served. */
  explain(question: RouteQuery): RouteResult;
}

/** A virtual server. */
export interface ServerView {
  /** As metrics name it. */
  readonly label: string;
  readonly names: readonly string[];
  readonly listens: readonly { readonly address: string; readonly isDefault: boolean }[];
  /** The server level itself, with all locations below it. */
  readonly root: LocationView;
}

/** A location, or the server level. */
export interface LocationView {
  /** As the configuration writes it, and metrics label it; '' for the server level. */
  readonly text: string;
  readonly kind: 'server' | 'prefix' | 'exact' | 'regex' | 'named';
  /** `file:line`. */
  readonly place: string;
  /** The directive that answers. Absent: files do, those of `root` or `alias`. */
  readonly answeredBy?: string;
  readonly internal: boolean;
  /** In the order in which they are asked. */
  readonly locations: readonly LocationView[];
}

/** A request that somebody may send. */
export interface RouteQuery {
  readonly port: number;
  /** Lower case, without port. */
  readonly host: string;
  /** The path as sent: percent-encoded, without its query. */
  readonly path: string;
}

/** What would answer it, or why nothing would. */
export type RouteResult =
  | { readonly refusal: string }
  | {
      readonly address: string;
      readonly server: string;
      readonly serverPlace: string;
      /** No `server_name` of that port matches. */
      readonly byDefault: boolean;
      /** Decoded and normalised: what locations are compared with. */
      readonly uri: string;
      /** The regex locations that matched on the way, outermost first. */
      readonly regexes: readonly string[];
      readonly location: Omit<LocationView, 'locations'>;
    };

/** Opens and shares resources; what it opened is closed when the last configuration that asked for it is gone. */
export interface ResourceScope {
  /** One resource per key in this worker (or master). An unchanged key survives a reload with its connections. */
  share<T>(key: string, open: () => T, close: (resource: T) => void | Promise<void>): T;
  readonly log: ErrorLog;
  /** Absolute; relative data paths start here. */
  readonly prefix: string;
}

/** The process: handed to `prepare`. */
export interface MasterScope extends ResourceScope {
  /** Whom the process becomes, or has become, before it serves; absent: it stays who it is. */
  readonly account: Account | undefined;
  /** Hands cloneable data to every worker of this load, under the module's own key. */
  provide(key: string, value: unknown): void;
  /** The configuration that is being loaded, and what was found in it. */
  configText(): ConfigText;
}

/** One worker thread and one loaded configuration: handed to `provision`. */
export interface WorkerScope extends ResourceScope {
  /** 1 … worker_processes. */
  readonly workerId: number;
  /** `worker_processes`, counted where it says `auto`. */
  readonly workers: number;
  /** Counts the loads of this process from 1; a reload that is refused counts too. */
  readonly generation: number;
  /** The servers of an `upstream` block as written: `host`, `host:port`, `unix:/path`. `undefined` when there is no such block. */
  upstream(name: string): readonly string[] | undefined;
  /** The groups of peers that requests can be sent to. */
  readonly upstreams: Upstreams;
  /** Closed when this configuration retires. */
  own<T>(resource: T, close: (resource: T) => void | Promise<void>): T;
  /** Fires when this configuration retires or the worker drains, before requests in flight are waited for. */
  readonly retiring: AbortSignal;
  /** The gateway is about to stop: it still serves, and says that nobody should come any more. */
  readonly draining: boolean;
  /** What this worker counts and measures. Outlives the configuration: what a resource has begun to show ends with it. */
  readonly metrics: Counters;
  /** Something that must work before this configuration can serve; asked once a second at most. The same name is the same check. */
  addCheck(name: string, check: Check): void;
  /** By name; complete once every location is compiled. */
  readonly checks: ReadonlyMap<string, Check>;
  /** Complete once every location is compiled. */
  readonly view: GatewayView;
  /** Hear every line that an error log of this thread takes. */
  readonly logListeners: LogListeners;
  /** Called when log files were rotated (USR1). */
  onReopen(listener: () => void): void;
  /** Shared memory of a zone that some module declared. */
  zone(name: string): SharedArrayBuffer;
  /** What `prepare` provided. */
  provided(key: string): unknown;
}
