import type { ComplexValue, RegexBounds } from '../config/index.ts';
import type { ErrorLogTarget } from '../log/index.ts';
import type { LingeringRules } from '../http/index.ts';
import type { Balancing, ResolverConfig, ServerConfig, Sticky } from '../upstream/index.ts';

/** An address of `listen`: an address with a port, or a Unix socket. */
export type ListenAddress =
  | {
      readonly kind: 'inet';
      readonly host: string;
      readonly port: number;
      /** An IPv6 socket that also accepts IPv4 connections (`ipv6only=off`). */
      readonly isDual?: true;
    }
  | { readonly kind: 'unix'; readonly path: string };

/** A listen address and its text. */
export interface NamedAddress {
  /** The address in messages: `0.0.0.0:80`. */
  readonly key: string;
  readonly address: ListenAddress;
}

/** One `listen` directive. */
export interface ListenConfig {
  readonly address: ListenAddress;
  /** The last port of a range that begins with the port of the address. */
  readonly lastPort?: number;
  readonly defaultServer: boolean;
  readonly ssl?: true;
  /** Connections begin with a PROXY protocol header. */
  readonly proxyProtocol?: true;
  readonly engine?: 'uws' | 'node';
  /** HTTP/2 for all servers of the address. */
  readonly http2?: true;
  /** `quic`: UDP, on which gw does not listen. */
  readonly quic?: true;
}

/** A server name by nginx's four kinds, in the order in which they win. */
export type ServerName =
  | { readonly kind: 'exact'; readonly name: string }
  /** `*.example.org`: `suffix` is `.example.org`. `hasBare`: written as `.example.org`; the name before it is `example.org`. */
  | { readonly kind: 'leading wildcard'; readonly suffix: string; readonly hasBare?: true }
  /** `www.example.*`: `prefix` is `www.example.`. */
  | { readonly kind: 'trailing wildcard'; readonly prefix: string }
  | { readonly kind: 'regex'; readonly regex: RegexConfig };

/** A PCRE pattern, translated to a JavaScript one without flags. */
export interface RegexConfig {
  readonly pattern: string;
  readonly source: string;
  /** Named captures in the order of their groups; they become variables. */
  readonly names: readonly string[];
  /** Number of capturing groups, including the named ones. */
  readonly groups: number;
  /** The longest texts that V8's engines may match. */
  readonly bounds: RegexBounds;
}

/** How a location matches. */
export type LocationMatch =
  | { readonly kind: 'prefix'; readonly path: string; readonly stop: boolean }
  | { readonly kind: 'exact'; readonly path: string }
  | { readonly kind: 'regex'; readonly regex: RegexConfig; readonly caseless: boolean }
  | { readonly kind: 'named'; readonly name: string };

/** `error_page codes [=[response]] target`. */
export interface ErrorPageConfig {
  readonly codes: readonly number[];
  /** Absent: keep the original status; `'target'`: the status of the page itself (`=` alone). */
  readonly response?: number | 'target';
  readonly target: ComplexValue;
}

/** MIME types by file name extension, lower case. */
export type MimeTypes = Readonly<Record<string, string>>;

/** The proxied requests whose responses are compressed (nginx: `gzip_proxied`). */
export type GzipProxied =
  'off' | 'expired' | 'no-cache' | 'no-store' | 'private' | 'no_last_modified' | 'no_etag' | 'auth' | 'any';
/** The directory of a location's files. Paths are absolute unless they begin with a variable. */
export type DocumentRootConfig =
  /** The whole URI is appended to the path. */
  | { readonly kind: 'root'; readonly path: ComplexValue }
  /**
   * The path replaces `location` in the URI; `location` is the location with the directive, which may be an outer one.
   */
  | { readonly kind: 'alias'; readonly path: ComplexValue; readonly location: string }
  /** In a regex location, the path with its captures is the whole file name. */
  | { readonly kind: 'regex alias'; readonly path: ComplexValue };

/** `env NAME` or `env NAME=value`. */
export interface EnvironmentVariable {
  readonly name: string;
  /** Default: the value at the start of the process. */
  readonly value?: string;
}

/** `path [level1 [level2 [level3]]]`: each level is the number of hexadecimal digits of its directories. */
export interface TempPath {
  /** Absolute. */
  readonly path: string;
  readonly levels: readonly number[];
}

/** `keepalive_timeout timeout [header_timeout]`. */
export interface KeepaliveTimeout {
  /** 0: every response closes its connection. */
  readonly idleMs: number;
  /** The value of `Keep-Alive: timeout=`; absent or 0: no such header. */
  readonly headerSeconds?: number;
}

/** Browsers whose kept-alive connections misbehave (nginx ngx_http_core_module#keepalive_disable). */
export type OldBrowser = 'msie6' | 'safari';

/** `user name [group]`. */
export interface UserConfig {
  readonly name: string;
  readonly group?: string;
  /** The place of the name; lines and columns count from 1. */
  readonly place: { readonly file: string; readonly line: number; readonly column: number };
}

/** `http_engine`: the engine of ports whose `listen` does not choose one. `auto`: uWebSockets.js where it loads. */
export interface HttpEngine {
  readonly engine: 'auto' | 'uws' | 'node';
  /** True: ports with TLS too, as far as uWebSockets.js can serve them. */
  readonly tls: boolean;
}

/** `error_log_tag name value`. */
export interface ErrorLogTag {
  readonly name: string;
  readonly value: ComplexValue;
}

/** The configuration of the core. Each level has the fields that are legal there. */
export interface CoreConfig {
  /** `ssl_object_cache_inheritable`. */
  readonly inheritsCertificates: boolean;
  readonly compat: 'refuse' | 'skip';
  readonly daemon: boolean;
  readonly masterProcess: boolean;
  readonly workerProcesses: number | 'auto';
  /** `auto`: uWebSockets.js where it loads. */
  /** Absent: nobody has chosen one, and it is `auto`. */
  readonly httpEngine?: HttpEngine;
  /** Set in the `events` block only. */
  readonly workerConnections?: number;
  readonly pidFile: string;
  readonly environment?: readonly EnvironmentVariable[];
  /** The account that serves when gw is started by root; default: `nobody`. */
  readonly user?: UserConfig;
  /** `worker_rlimit_nofile`. */
  readonly openFiles?: number;
  readonly shutdownTimeoutMs: number;
  readonly shutdownDelayMs: number;
  readonly metricsMaxSeries: number;
  /** Bounds of histograms of times in seconds, ascending; set in the `http` block only. */
  readonly metricsBuckets?: readonly number[];
  /** False: the requests of a location are not counted by location; a text: the name of the location in metrics. */
  readonly metricsLocation: boolean | string;
  readonly errorLogs?: readonly ErrorLogTarget[];
  readonly errorLogTags?: readonly ErrorLogTag[];
  readonly logSubrequest: boolean;
  /** Set in the `check` block only: rules, followed by the reason. */
  readonly checkIgnore?: readonly (readonly string[])[];
  readonly checkSelect?: readonly string[];
  /** The lowest severity of a finding of `gw check` for which the configuration is refused. */
  readonly checkRefuse?: 'never' | 'error' | 'warning';
  /** False: findings are not logged at a start and a reload. */
  readonly checkLog?: boolean;

  readonly listens?: readonly ListenConfig[];
  readonly serverNames?: readonly (readonly ServerName[])[];
  readonly mergeSlashes: boolean;
  /** Longest request or header line; the head as a whole may have `number` times as many bytes. */
  readonly largeHeaderBuffers: { readonly number: number; readonly sizeBytes: number };
  /** If this is larger than `sizeBytes`, a line may be this long. */
  readonly headerBufferBytes: number;
  readonly headerTimeoutMs: number;
  readonly underscoresInHeaders: boolean;
  readonly ignoreInvalidHeaders: boolean;
  readonly maxHeaders: number;
  readonly http2: boolean;
  readonly http2MaxStreams: number;
  readonly http2PrereadBytes: number;

  /** Default: `html` below the prefix. */
  readonly documentRoot?: DocumentRootConfig;
  readonly defaultType: string;
  readonly types?: MimeTypes;
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
  readonly bodyBufferBytes: number;
  /** Default: the system's directory for temporary files. */
  readonly bodyTempPath?: TempPath;
  /** `clean` and `on` write every body to a named file; `on` keeps the file. */
  readonly bodyInFileOnly: 'off' | 'clean' | 'on';
  readonly sendTimeoutMs: number;
  readonly keepaliveTimeout: KeepaliveTimeout;
  readonly keepaliveRequests: number;
  readonly keepaliveTimeMs: number;
  readonly keepaliveDisable: readonly OldBrowser[];
  readonly lingeringClose: LingeringRules['mode'];
  readonly lingeringTimeMs: number;
  readonly lingeringTimeoutMs: number;
  readonly resetTimedoutConnection: boolean;
  readonly earlyHints?: readonly (readonly ComplexValue[])[];
  readonly serverTokens: 'on' | 'off' | 'build' | ComplexValue;
  readonly errorPages?: readonly ErrorPageConfig[];
  readonly internal?: true;
  /** `all`: every access check must allow a request. `any`: one of them must. */
  readonly satisfy: 'all' | 'any';
  /** Delay of a 401. */
  readonly authDelayMs: number;
  /** A directive or variable that the block needs and gw does not support: requests get 501 (`compat skip`). */
  readonly skipped?: string;
  readonly absoluteRedirect: boolean;
  readonly serverNameInRedirect: boolean;
  readonly portInRedirect: boolean;
  readonly recursiveErrorPages: boolean;
  /** False: the end of the connection ends a response of unknown length. */
  readonly chunks: boolean;
  /** A URI or `@name` that is requested after each response. */
  readonly postAction?: string;
  readonly msiePadding: boolean;
  readonly msieRefresh: boolean;
  readonly maxKeptBytes: number;
  readonly resolver?: ResolverConfig;
  readonly resolverTimeoutMs: number;

  /** Conditions for compressed responses, used by `gzip`, `gunzip` and `gzip_static`. */
  readonly ifModifiedSince: 'off' | 'exact' | 'before';
  /** Absent: no limit. */
  readonly maxRanges?: number;
  readonly gzipVary: boolean;
  readonly gzipHttpVersion: '1.0' | '1.1';
  readonly gzipProxied: readonly GzipProxied[];
  /** Patterns for `User-Agent`. */
  readonly gzipDisable?: readonly (RegexConfig | 'msie6')[];
  /** `slice`; 0: responses of upstreams are fetched whole. */
  readonly sliceBytes: number;
  /** The response header with tags of a stored response, named for this location. */
  readonly tagHeader?: string;
  /** Stored responses have tags, in the header of `cacheTagsHeader`. */
  readonly cacheTags?: true;
  readonly cacheTagsHeader: string;
  /** The cluster whose gateways purge the same entries as this one. */
  readonly purgeCluster?: string;
  /** The treatment of stored responses when purges of other gateways were missed. */
  readonly purgeOnGap: 'expire' | 'keep';
  /** True to log each read of a variable that `set` has not filled yet. */
  readonly uninitializedVariableWarn: boolean;
}

/** The cookie or header of `upstream_balancer_sticky_…`. */
export interface StickyKey {
  readonly from: 'cookie' | 'header';
  readonly name: string;
}

/** An `upstream` block. */
export interface UpstreamConfig {
  readonly servers?: readonly ServerConfig[];
  /** In file order; the last one applies. */
  readonly balancing?: readonly Balancing[];
  readonly sticky?: Sticky;
  /** `dynamic_upstreams_managed`: the members may change while the group serves. */
  readonly managed?: true;
  /** The size of `zone`. */
  readonly zoneBytes?: number;
  readonly stickyKey?: StickyKey;
  readonly stickyFallback: 'next' | 'off';
  readonly stickyIssuesCookie: boolean;
  readonly stickyCookieAttributes: string;
  readonly keepaliveConnections?: number;
  readonly keepaliveRequests: number;
  readonly keepaliveTimeMs: number;
  readonly keepaliveTimeoutMs: number;
}
