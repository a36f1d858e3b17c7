import type { ComplexValue, RegexBounds } from '../config/index.ts';
import type { ErrorLogTarget } from '../log/index.ts';
import type { LingeringRules } from '../http/index.ts';
import type { Balancing, ResolverConfig, ServerConfig } from '../upstream/index.ts';

/** Where `listen` binds: an address with a port, or a Unix socket. */
export type ListenAddress =
  | { readonly kind: 'inet'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** The socket of a configuration's address. */
export interface NamedAddress {
  /** As messages name it: `0.0.0.0:80`. */
  readonly key: string;
  readonly address: ListenAddress;
}

/** One `listen` directive. */
export interface ListenConfig {
  readonly address: ListenAddress;
  readonly defaultServer: boolean;
  readonly ssl?: true;
  /** Connections begin with the header of the PROXY protocol. */
  readonly proxyProtocol?: true;
  readonly engine?: 'uws' | 'node';
  /** Served as HTTP/1.1. */
  readonly http2?: true;
  /** UDP: there is nothing to listen on. */
  readonly quic?: true;
}

/** A server name by nginx's four kinds, in the order in which they win. */
export type ServerName =
  | { readonly kind: 'exact'; readonly name: string }
  /** `*.example.org`: `suffix` is `.example.org`. */
  | { readonly kind: 'leading wildcard'; readonly suffix: string }
  /** `www.example.*`: `prefix` is `www.example.`. */
  | { readonly kind: 'trailing wildcard'; readonly prefix: string }
  | { readonly kind: 'regex'; readonly regex: RegexConfig };

/** A PCRE pattern, already translated to a JavaScript one without flags. */
export interface RegexConfig {
  readonly pattern: string;
  readonly source: string;
  /** Named captures in the order of their groups; they become variables. */
  readonly names: readonly string[];
  /** How many groups capture, the named ones among them. */
  readonly groups: number;
  /** How long a text each of V8's engines may be given. */
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

/** For which requests that came through a proxy answers are compressed (nginx: `gzip_proxied`). */
export type GzipProxied =
  'off' | 'expired' | 'no-cache' | 'no-store' | 'private' | 'no_last_modified' | 'no_etag' | 'auth' | 'any';
/** Where the files of a location are; the paths are absolute unless they begin with a variable. */
export type DocumentRootConfig =
  /** The whole URI follows the path. */
  | { readonly kind: 'root'; readonly path: ComplexValue }
  /** The path takes the place of `location` in the URI: the location that says so, or one around it. */
  | { readonly kind: 'alias'; readonly path: ComplexValue; readonly location: string }
  /** An alias of a regex location: its captures make the whole path. */
  | { readonly kind: 'regex alias'; readonly path: ComplexValue };

/** `env NAME` or `env NAME=value`. */
export interface EnvironmentVariable {
  readonly name: string;
  /** Absent: the value that the process was started with. */
  readonly value?: string;
}

/** `path [level1 [level2 [level3]]]`: each level is how many hexadecimal digits its directories have. */
export interface TempPath {
  /** Absolute. */
  readonly path: string;
  readonly levels: readonly number[];
}

/** `keepalive_timeout timeout [header_timeout]`. */
export interface KeepaliveTimeout {
  /** 0: every answer closes its connection. */
  readonly idleMs: number;
  /** What `Keep-Alive: timeout=` says; absent or 0: no such header. */
  readonly headerSeconds?: number;
}

/** Browsers whose kept-alive connections misbehave (nginx ngx_http_core_module#keepalive_disable). */
export type OldBrowser = 'msie6' | 'safari';

/** `user name [group]`. */
export interface UserConfig {
  readonly name: string;
  readonly group?: string;
  /** Of the name; lines and columns count from 1. */
  readonly place: { readonly file: string; readonly line: number; readonly column: number };
}

/** What the core of the gateway reads of the configuration; each level fills the fields that are legal there. */
export interface CoreConfig {
  readonly daemon: boolean;
  readonly masterProcess: boolean;
  readonly workerProcesses: number | 'auto';
  /** `auto`: uWebSockets.js where it loads. */
  readonly httpEngine: 'auto' | 'uws' | 'node';
  /** Of the `events` block, and only there. */
  readonly workerConnections?: number;
  readonly pidFile: string;
  readonly environment?: readonly EnvironmentVariable[];
  /** Whom a process that was started by root becomes before it serves; absent: `nobody`. */
  readonly user?: UserConfig;
  readonly shutdownTimeoutMs: number;
  readonly shutdownDelayMs: number;
  readonly metricsMaxSeries: number;
  readonly errorLogs?: readonly ErrorLogTarget[];
  readonly logSubrequest: boolean;
  /** Of the `check` block, and only there: rules, and behind them the reason. */
  readonly checkIgnore?: readonly (readonly string[])[];
  readonly checkSelect?: readonly string[];
  /** From which severity on a finding of `gw check` refuses the configuration. */
  readonly checkRefuse?: 'never' | 'error' | 'warning';
  /** False: a start and a reload keep what the rules find to themselves. */
  readonly checkLog?: boolean;

  readonly listens?: readonly ListenConfig[];
  readonly serverNames?: readonly (readonly ServerName[])[];
  readonly mergeSlashes: boolean;
  /** Bytes of one request or header line; the head as a whole may have `number` times as many. */
  readonly largeHeaderBuffers: { readonly number: number; readonly sizeBytes: number };
  /** Counts with them; a first buffer that is larger than the others lets a line be as long. */
  readonly headerBufferBytes: number;
  readonly headerTimeoutMs: number;
  readonly underscoresInHeaders: boolean;
  readonly ignoreInvalidHeaders: boolean;
  readonly maxHeaders: number;

  /** Absent: `html` below the prefix. */
  readonly documentRoot?: DocumentRootConfig;
  readonly defaultType: string;
  readonly types?: MimeTypes;
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
  readonly bodyBufferBytes: number;
  /** Absent: the system's directory for temporary files. */
  readonly bodyTempPath?: TempPath;
  /** `clean` and `on` write every body to a file of its own name; `on` leaves it there. */
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
  readonly serverTokens: 'on' | 'off' | 'build' | ComplexValue;
  readonly errorPages?: readonly ErrorPageConfig[];
  readonly internal?: true;
  /** Whether all access checks must let a request in, or one of them is enough. */
  readonly satisfy: 'all' | 'any';
  /** How long a 401 is held back. */
  readonly authDelayMs: number;
  readonly absoluteRedirect: boolean;
  readonly serverNameInRedirect: boolean;
  readonly portInRedirect: boolean;
  readonly recursiveErrorPages: boolean;
  /** False: an answer of unknown length ends with its connection. */
  readonly chunks: boolean;
  /** A URI or `@name` that is asked once an answer is complete. */
  readonly postAction?: string;
  readonly msiePadding: boolean;
  readonly msieRefresh: boolean;
  readonly resolver?: ResolverConfig;
  readonly resolverTimeoutMs: number;

  /** Who gets compressed answers: `gzip`, `gunzip` and `gzip_static` ask. */
  readonly gzipVary: boolean;
  readonly gzipHttpVersion: '1.0' | '1.1';
  readonly gzipProxied: readonly GzipProxied[];
  /** Patterns of clients' names. */
  readonly gzipDisable?: readonly (RegexConfig | 'msie6')[];
  /** Whether reading a variable that `set` has not filled yet is told. */
  readonly uninitializedVariableWarn: boolean;
}

/** An `upstream` block. */
export interface UpstreamConfig {
  readonly servers?: readonly ServerConfig[];
  /** In file order: the last one counts. */
  readonly balancing?: readonly Balancing[];
  readonly keepaliveConnections?: number;
  readonly keepaliveRequests: number;
  readonly keepaliveTimeMs: number;
  readonly keepaliveTimeoutMs: number;
}
