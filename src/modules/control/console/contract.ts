/*
 * The JSON that the console's page and its handlers exchange: both are compiled against this file. An error is a
 * `Refusal` with a 4xx or 5xx status. Times are milliseconds since the epoch.
 */

import type { CertificateState, QuotaLoad } from './part-loads.ts';
import type { FailingLocation, Moment } from './ranges.ts';

/** The header of writes: pages of other origins cannot send it without a preflight request. */
export const WRITE_HEADER = 'x-gw-console';

/** Paths below the console's location. */
export const DATA_PATHS = {
  overview: 'data/overview',
  routes: 'data/routes',
  explain: 'data/explain',
  config: 'data/config',
  events: 'data/events',
  flags: 'data/flags',
  upstreams: 'data/upstreams',
  caches: 'data/caches',
  clusters: 'data/clusters',
  log: 'data/log',
  apis: 'data/apis',
} as const;

export interface Refusal {
  readonly error: string;
}

/** `?range=` names a `Range`, `?since=` an `atMs`: only later moments are sent. Requests for a console are not counted. */
export interface Overview {
  readonly nowMs: number;
  readonly gateway: Gateway;
  readonly configuration: Configuration;
  /** Those of the range, oldest first. */
  readonly moments: readonly Moment[];
  /** Those of the last minute, two seconds apart. */
  readonly latest: readonly Moment[];
  readonly failing: readonly FailingLocation[];
  /** Upper bounds in seconds of all buckets but the last, which is unbounded. */
  readonly bounds: readonly number[];
  readonly locations: readonly LocationLoad[];
  readonly workers: readonly WorkerLoad[];
  readonly databases: readonly DatabaseLoad[];
  readonly stores: readonly CommandLoad[];
  readonly rings: readonly { readonly name: string; readonly published: number; readonly dropped: number }[];
  /** Requests of quota zones, of all keys together; only zones that have counted any. */
  readonly quotas: readonly QuotaLoad[];
  /** Issuers of tokens whose keys are fetched; `null`: they never were. */
  readonly issuers: readonly { readonly name: string; readonly keysAgeMs: number | null }[];
  /** Certificates that servers show, those that end first at the beginning. */
  readonly certificates: readonly CertificateState[];
  readonly upstreams: readonly UpstreamLoad[];
  /** The configuration has clusters. */
  readonly hasClusters: boolean;
}

/** An upstream and the state of its peers. */
export interface UpstreamLoad {
  readonly name: string;
  readonly peers: readonly {
    readonly address: string;
    /** `unavailable`: not used for a while after too many failures; `failing`: used, but the last requests failed. */
    readonly state:
      'up' | 'down' | 'unavailable' | 'failing' | 'unhealthy' | 'checking' | 'draining' | 'slow_start';
    /** Active requests, in all workers. */
    readonly requests: number;
  }[];
}

interface Gateway {
  readonly version: string;
  readonly node: string;
  readonly pid: number;
  readonly startedMs: number;
  readonly draining: boolean;
  readonly residentBytes: number;
  readonly cpuSeconds: number;
}

interface Configuration {
  /** Number of loads in this process. */
  readonly generation: number;
  /** False: a later load was refused, and this configuration stayed active. */
  readonly isNewest: boolean;
  readonly loadedMs: number;
  readonly findings: { readonly emerg: number; readonly warn: number; readonly notice: number };
}

/** One location, without its nested locations. */
export interface LocationLoad {
  readonly server: string;
  readonly location: string;
  readonly requests: number;
  readonly bytes: number;
  /** Since the start. */
  readonly codes: Readonly<Record<string, number>>;
  /** Requests of each ten seconds, oldest first, up to five minutes. */
  readonly tens: readonly number[];
  /** The counts of about the last minute; `seconds` is the exact length. */
  readonly recent: {
    readonly seconds: number;
    readonly requests: number;
    readonly codes: Readonly<Record<string, number>>;
    readonly buckets: readonly number[];
  };
  /** Accurate to two seconds; absent if there was no request since this worker started to sample. */
  readonly lastHitMs?: number;
}

export interface WorkerLoad {
  readonly id: string;
  readonly lagMs: number;
  readonly heapBytes: number;
  readonly restarts: number;
}

export interface DatabaseLoad {
  readonly name: string;
  readonly max: number;
  readonly available: number;
  readonly waiting: number;
  readonly timeouts: number;
  /** Requests that failed while it could not be reached. */
  readonly unreached: number;
  readonly queries: number;
  readonly buckets: readonly number[];
}

export interface CommandLoad {
  readonly command: string;
  readonly sent: number;
  readonly errors: number;
  readonly hits: number;
  readonly misses: number;
  readonly buckets: readonly number[];
}

export interface RouteTree {
  readonly servers: readonly RouteServer[];
  /** Label of the server that serves the console. */
  readonly own: string;
}

export interface RouteServer {
  readonly label: string;
  readonly names: readonly string[];
  readonly listens: readonly { readonly address: string; readonly isDefault: boolean }[];
  readonly root: Route;
}

/** A location, or with the text '' the server itself. */
export interface Route {
  readonly text: string;
  readonly kind: 'server' | 'prefix' | 'exact' | 'regex' | 'named';
  readonly place: string;
  readonly answeredBy?: string;
  readonly internal: boolean;
  readonly locations: readonly Route[];
}

/** The location that serves `?url=`: an absolute URL, or a path at the address of the console. */
export type RouteMatch =
  | { readonly refusal: string }
  | {
      readonly address: string;
      readonly server: string;
      readonly serverPlace: string;
      readonly byDefault: boolean;
      readonly uri: string;
      readonly regexes: readonly string[];
      readonly location: Omit<Route, 'locations'>;
    };

/** The active configuration with secrets masked. */
export interface ConfigText {
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly findings: readonly ConfigFinding[];
}

export interface ConfigFinding {
  readonly severity: 'emerg' | 'warn' | 'notice';
  readonly message: string;
  readonly hint?: string;
  readonly place?: { readonly file: string; readonly line: number; readonly column: number };
}

/** `?zone=&since=&wait=`: entries after a generation; with `wait` the response is sent when there is one, or after 20 seconds. */
export interface EventPage {
  readonly zones: readonly string[];
  /** The requested zone, or the first; absent if there is none. */
  readonly zone?: string;
  readonly capacity: number;
  readonly newest: number;
  readonly dropped: number;
  readonly entries: readonly EventEntry[];
}

export interface EventEntry {
  readonly generation: number;
  readonly channel: string;
  readonly type: string;
  readonly payload: string | null;
  readonly timestampMs: number;
}

/** `?since=&wait=` as for events; the channel is `error` or `request`. */
export type LogPage = Pick<EventPage, 'newest' | 'entries'>;

export interface FlagPage {
  /** The dictionaries of the configuration, the one for flags first. Empty: none is declared. */
  readonly dictionaries: readonly string[];
  readonly flags: readonly FlagState[];
  /** Variables that depend on a flag. */
  readonly variables: readonly { readonly variable: string; readonly flag: string }[];
}

export interface FlagState {
  readonly name: string;
  readonly enabled: boolean;
  /** 0 to 100. */
  readonly rolloutPct: number;
  /** 0: no expiry. */
  readonly ttlS: number;
}

/** The body of a POST to `flags`; the response is the new `FlagPage`. */
export type FlagChange = { readonly set: FlagState } | { readonly unset: string };

/** The groups of servers with the counts of their peers since the start. */
export interface UpstreamPage {
  readonly nowMs: number;
  readonly upstreams: readonly GroupState[];
}

export interface GroupState {
  readonly name: string;
  /** The method of selecting a peer: `round_robin`, `least_conn`, `hash consistent` … */
  readonly method: string;
  /** Absent if nothing but a reload changes the peers. */
  readonly members?: MemberState;
  readonly peers: readonly PeerState[];
}

interface MemberState {
  /** Counts the sets of peers, from 1. */
  readonly generation: number;
  /** The source of the peers; `static`: the API; absent: nothing changes the peers. */
  readonly source?: string;
  /** The time of the last successful change or refresh; 0 without one. */
  readonly lastSuccessMs: number;
  readonly lastErrorMs: number;
  readonly lastErrorCode: number;
  readonly isRestored: boolean;
  /** Weights may be changed: no source overwrites them. */
  readonly isWritable: boolean;
}

export interface PeerState {
  readonly address: string;
  readonly state: UpstreamLoad['peers'][number]['state'];
  /** Accurate to two seconds; absent if the state has not changed since this worker began to observe it. */
  readonly sinceMs?: number;
  readonly weight: number;
  readonly backup: boolean;
  /** The peer was drained and can be undrained, whatever its state. */
  readonly drains: boolean;
  /** Active requests, in all workers. */
  readonly requests: number;
  /** Number of selections, and their share of all selections in the group, former peers included. */
  readonly picks: number;
  readonly share: number;
  readonly failures: number;
  /** Response times, not cumulative; the bounds are in seconds, and the last bucket has none. */
  readonly times?: { readonly buckets: readonly number[]; readonly bounds: readonly number[] };
  /** The last probes of its active checks. */
  readonly probes: readonly ProbeState[];
}

interface ProbeState {
  readonly uri: string;
  readonly verdict: 'unknown' | 'healthy' | 'unhealthy';
  /** 0: no response. */
  readonly status: number;
  /** 0: not probed yet. */
  readonly probedMs: number;
  readonly spentMs: number;
}

/** The body of a POST to `upstreams`; the response is the new `UpstreamPage`. */
export type PeerChange = { readonly upstream: string } & (
  | { readonly drain: string }
  | { readonly undrain: string }
  | { readonly weigh: string; readonly weight: number }
);

/** The caches with their contents and their counts since the start. */
export interface CachePage {
  readonly nowMs: number;
  readonly caches: readonly CacheState[];
}

export interface CacheState {
  readonly name: string;
  readonly directory: string;
  readonly entries: number;
  readonly bytes: number;
  /** 0: no limit. */
  readonly maxBytes: number;
  readonly indexBytes: number;
  readonly indexFreeBytes: number;
  /** The directory is still being read after a start. */
  readonly isLoading: boolean;
  /** Since when writing to the disk has failed; 0: it succeeds. */
  readonly failingSinceMs: number;
  /** Requests by cache status: `HIT`, `MISS` … */
  readonly requests: Readonly<Record<string, number>>;
  /** Responses that were removed or not stored, by reason; faults by kind. */
  readonly evictions: Readonly<Record<string, number>>;
  readonly notStored: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  readonly purged: number;
  /** The largest entries, largest first; the list is up to ten seconds old. */
  readonly largest: readonly LargeEntry[];
}

export interface LargeEntry {
  /** Values of secret parameters are masked. */
  readonly key: string;
  /** The key is shown in full: it can be purged. */
  readonly isWhole: boolean;
  readonly tags: readonly string[];
  readonly sizeBytes: number;
  readonly uses: number;
  readonly usedMs: number;
  /** Fresh until then. */
  readonly validMs: number;
}

/** The body of a POST to `caches`: one key, the beginning of keys, or a tag. */
export interface CachePurge {
  readonly cache: string;
  readonly match: 'key' | 'prefix' | 'tag';
  readonly text: string;
}

/** The response to a purge, with the number of stored responses that were removed. */
export interface CachePurged extends CachePage {
  readonly purged: number;
}

/** The clusters of the configuration, as the node of this gateway sees them. */
export interface ClusterPage {
  readonly clusters: readonly ClusterState[];
}

export interface ClusterState {
  readonly name: string;
  readonly nodeId: string;
  /** The address of the store; absent until the node has begun. */
  readonly store?: string;
  readonly state: 'starting' | 'up' | 'down';
  /** The reason why the store cannot be used. */
  readonly reason?: string;
  /** Live nodes, this one included; the list may have fewer. */
  readonly nodesTotal: number;
  readonly nodes: readonly {
    readonly name: string;
    readonly version: string;
    /** Time since its last heartbeat. */
    readonly ageMs: number;
  }[];
  readonly streams: readonly SharedStreamState[];
  /** Subjects that another node shares with other parameters. */
  readonly conflicts: readonly { readonly subject: string; readonly node: string }[];
  /** Other faults, as sentences. */
  readonly warnings: readonly string[];
  /** Bytes of entries that wait for the store. */
  readonly bufferBytes: number;
  readonly mostBufferBytes: number;
}

export interface SharedStreamState {
  readonly name: string;
  /** The content of the stream: `events of bus`. */
  readonly subject: string;
  /** The number of the last entry that the node has read. */
  readonly position: number;
  /** The time for which the node has lacked entries. */
  readonly lagMs: number;
  /** Number of gaps that were found. */
  readonly gaps: number;
}

/** The REST locations on which requests can be tried; with `?api=` an `ApiDescription` instead. */
export interface ApiPage {
  /** False: `control_console_api` is off, and the console can try no request. */
  readonly isOn: boolean;
  readonly apis: readonly ApiLocation[];
}

export interface ApiLocation {
  readonly id: string;
  readonly label: string;
  /** The beginning of the paths of its requests; absent if its location is a pattern. */
  readonly path?: string;
}

export interface ApiDescription {
  /** The roles that trials may have, the anonymous one first. */
  readonly roles: readonly { readonly name: string; readonly bypassesRowSecurity: boolean }[];
  readonly resources: readonly ApiResource[];
  /** Not all resources are listed. */
  readonly isCut: boolean;
}

export interface ApiResource {
  readonly name: string;
  readonly kind: 'table' | 'function';
  /** The schema, if it is not the one that requests without a profile use. */
  readonly profile?: string;
  readonly path: string;
  readonly summary: string;
  readonly methods: readonly string[];
  readonly fields: readonly {
    readonly name: string;
    readonly type: string;
    readonly isKey: boolean;
    readonly isRequired: boolean;
  }[];
}

/** The body of a POST to `apis`: a request as a role. */
export interface Trial {
  readonly api: string;
  readonly role: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  /** True: the statements run, and are rolled back. False: they are only explained. */
  readonly runs: boolean;
}

/** The response to a trial. */
export interface TrialOutcome {
  /** A phrase without a subject: `reads rows of the database`. */
  readonly does: string;
  /** Absent if the request was only explained and nothing refused it. */
  readonly response?: {
    readonly status: number;
    readonly headers: readonly (readonly [name: string, value: string])[];
    readonly body: string;
    readonly bodyBytes: number;
    readonly isCut: boolean;
  };
  readonly statements: readonly { readonly text: string; readonly values: readonly string[] }[];
  readonly plan?: string;
  readonly relations: readonly TriedRelation[];
  /** The most likely cause first. */
  readonly reasons: readonly { readonly text: string; readonly remedy?: string }[];
}

/** A table or view that a request uses, with the rights of the role. */
export interface TriedRelation {
  readonly name: string;
  readonly kind: string;
  readonly role: string;
  /** False: a view of the request reads it. */
  readonly isDirect: boolean;
  readonly commands: readonly {
    readonly command: string;
    readonly isAllowed: boolean;
    readonly missingColumns?: readonly string[];
  }[];
  readonly rowSecurity: 'off' | 'applies' | 'bypassed';
  readonly policies: readonly TriedPolicy[];
}

export interface TriedPolicy {
  readonly name: string;
  readonly isPermissive: boolean;
  readonly command: string;
  readonly roles: readonly string[];
  readonly using?: string;
  readonly check?: string;
  /** The policy applies to the role and a command of the request. */
  readonly applies: boolean;
}
