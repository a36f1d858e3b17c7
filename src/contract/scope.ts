import type { Severity } from '../../grammar/index.ts';
import type { Caches } from '../cache/index.ts';
import type { Clusters } from '../cluster/index.ts';
import type { Health } from '../health/index.ts';
import type { ErrorLog, LogListeners, LogOpener } from '../log/index.ts';
import type { Account } from '../system/index.ts';
import type { PeerView, Upstreams } from '../upstream/index.ts';
import type { Counters, ZoneDeclaration } from '../zone/index.ts';
import type { CertificateView } from './certificate-view.ts';
import type { TrialApi } from './trial.ts';

/**
 * Checks a resource that locations depend on. Resolves with `undefined` if it works, otherwise with the reason, written
 * for the operator, without secrets or paths. The caller limits frequency and duration.
 */
export type Check = () => Promise<string | undefined>;

/** The text of a configuration, with secrets masked. */
export interface ConfigText {
  /** The main file first, then the included files, in the order of reading. */
  readonly files: readonly { readonly name: string; readonly text: string }[];
  /** The faults that its load reported. The name is that of the console's JSON. */
  readonly findings: readonly LoadFault[];
}

/** A fault that a load reported. */
export interface LoadFault {
  readonly severity: Severity;
  readonly message: string;
  readonly hint?: string;
  /** Absent if it concerns the configuration as a whole. Lines and columns count from 1. */
  readonly place?: { readonly file: string; readonly line: number; readonly column: number };
}

/** The running configuration for the console and status pages: where requests go, and their peers. */
export interface GatewayView {
  readonly servers: readonly ServerView[];
  /** `upstream` blocks with the current state of their peers. */
  readonly upstreams: readonly { readonly name: string; readonly peers: readonly PeerView[] }[];
  readonly zones: readonly ZoneDeclaration[];
  /** Returns whether a server has this name, exactly or by a wildcard; regex names do not count. */
  knowsHost(host: string): boolean;
  /** Finds the location that would serve a request, without serving it. */
  explain(question: RouteQuery): RouteResult;
}

/** A virtual server. */
export interface ServerView {
  /** Its name in metrics. */
  readonly label: string;
  readonly names: readonly string[];
  readonly listens: readonly { readonly address: string; readonly isDefault: boolean }[];
  /** The server level, with all locations below it. */
  readonly root: LocationView;
}

/** A location, or the server level. */
export interface LocationView {
  /** As written in the configuration and in metrics; '' for the server level. */
  readonly text: string;
  readonly kind: 'server' | 'prefix' | 'exact' | 'regex' | 'named';
  /** `file:line`. */
  readonly place: string;
  /** The directive that serves it; absent: files of `root` or `alias`. */
  readonly answeredBy?: string;
  readonly internal: boolean;
  /** In the order in which they are searched. */
  readonly locations: readonly LocationView[];
}

/** A request whose route is looked up. */
export interface RouteQuery {
  readonly port: number;
  /** Lower case, without port. */
  readonly host: string;
  /** The path as sent: percent-encoded, without its query. */
  readonly path: string;
}

/** The location that would serve a request, or the reason why no location would. */
export type RouteResult =
  | { readonly refusal: string }
  | {
      readonly address: string;
      readonly server: string;
      readonly serverPlace: string;
      /** True if no `server_name` of that port matches. */
      readonly byDefault: boolean;
      /** Decoded and normalised, as compared with locations. */
      readonly uri: string;
      /** The regex locations that matched, outermost first. */
      readonly regexes: readonly string[];
      readonly location: Omit<LocationView, 'locations'>;
    };

/** Opens and shares resources. A resource is closed when the last configuration that uses it is gone. */
export interface ResourceScope {
  /**
   * Returns the resource of a key in this worker (or master), opened once. If the key stays the same, the resource and
   * its connections survive a reload.
   */
  share<T>(key: string, open: () => T, close: (resource: T) => void | Promise<void>): T;
  readonly log: ErrorLog;
  /** Absolute; relative paths of data start here. */
  readonly prefix: string;
}

/** The master process; passed to `prepare`. */
export interface MasterScope extends ResourceScope {
  /** The account that the process changes to, or has changed to, before it serves; absent if it does not change. */
  readonly account: Account | undefined;
  /** True while another process still serves that this one replaces: what only one process can open is refused. */
  readonly isUpgrade: boolean;
  /** Passes cloneable data to every worker of this load, under the module's own key. */
  provide(key: string, value: unknown): void;
  /** Returns the text of the configuration that is being loaded, and its faults. */
  configText(): ConfigText;
  /** Returns the servers of an `upstream` block, as `WorkerScope` does. */
  upstream(name: string): readonly string[] | undefined;
}

/** One worker thread and one loaded configuration; passed to `provision`. */
export interface WorkerScope extends ResourceScope {
  /** Counted from 1; unique among the running workers. */
  readonly workerId: number;
  /** True for the worker that does the work that must be done only once. */
  readonly isFirst: boolean;
  /** `worker_processes`; with `auto`, the resulting number. */
  readonly workers: number;
  /** Number of this load, counted from 1; refused reloads count too. */
  readonly generation: number;
  /**
   * Returns the servers of an `upstream` block as written: `host`, `host:port`, `unix:/path`; `undefined` if there is
   * no such block.
   */
  upstream(name: string): readonly string[] | undefined;
  /** The groups of peers that requests are sent to. */
  readonly upstreams: Upstreams;
  /** The `cluster` blocks, by name. */
  readonly clusters: Clusters;
  /** The caches of responses. */
  readonly caches: Caches;
  /** The active checks of upstreams. */
  readonly health: Health;
  /** Registers a resource that is closed when this configuration retires. */
  own<T>(resource: T, close: (resource: T) => void | Promise<void>): T;
  /** Aborted when this configuration retires or the worker drains, before requests in flight are awaited. */
  readonly retiring: AbortSignal;
  /**
   * True if the gateway is about to stop: it still serves, but reports itself as not ready. A configuration or a process
   * that another one takes over from does not count: new requests are accepted all the time.
   */
  readonly draining: boolean;
  /** The metrics of this worker. They outlive the configuration; metrics of a resource end with the resource. */
  readonly metrics: Counters;
  /**
   * Adds a check that must succeed before this configuration is ready; it runs at most once a second. A check with the
   * same name replaces it.
   */
  addCheck(name: string, check: Check): void;
  /** The checks by name; complete when all locations are compiled. */
  readonly checks: ReadonlyMap<string, Check>;
  /** Adds an API on which operators can try requests, if the configuration allows it. */
  addTrials(api: TrialApi): void;
  /** The APIs of `addTrials`, in the same order in every worker; complete when all locations are compiled. */
  readonly trials: readonly TrialApi[];
  /** Adds certificates that servers show. */
  addCertificates(source: () => readonly CertificateView[]): void;
  /** The certificates of `addCertificates` at this moment; complete when all locations are compiled. */
  readonly certificates: readonly CertificateView[];
  /** Complete when all locations are compiled. */
  readonly view: GatewayView;
  /** Listeners that receive every line of this thread's error logs. */
  readonly logListeners: LogListeners;
  readonly logOpener: LogOpener;
  /**
   * Adds a listener that is called when logs may have been rotated: after USR1 and after a reload. A listener that is
   * added several times is called once.
   */
  onReopen(listener: () => void): void;
  /** Adds a listener that is called when this configuration begins to serve; until then it can still be refused. */
  onServing(listener: () => void): void;
  /** Returns the shared memory of a zone that a module declared. */
  zone(name: string): SharedArrayBuffer;
  /** Returns what the configuration declares of a zone. */
  zoneDeclaration(name: string): ZoneDeclaration | undefined;
  /** Returns the value that `prepare` provided. */
  provided(key: string): unknown;
}
