import type { Account } from '../config/index.ts';
import type { ErrorLog, LogListeners } from '../log/index.ts';
import type { Upstreams } from '../upstream/index.ts';
import type { Counters } from '../zone/index.ts';
import type { Check } from './check.ts';
import type { ConfigText } from './config-text.ts';
import type { GatewayView } from './gateway-view.ts';

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
