import type { LogTag } from '../log/index.ts';
import type { RedirectRules } from './uri.ts';

/** Lingering close: how to close a connection whose client may still be sending. */
export interface LingeringRules {
  /** `on`: if the client is still sending; `always`: in any case. */
  readonly mode: 'off' | 'on' | 'always';
  readonly timeMs: number;
  /** Longest silence. */
  readonly silenceMs: number;
}

/** The parts of an exchange that identify the browser. */
interface Client {
  readonly request: { readonly method: string };
  header(name: string): string | undefined;
}

/** The settings that decide whether and how a connection stays open after a response. */
export interface ConnectionRules {
  /** False: every response closes it (`keepalive_timeout 0`, `keepalive_requests 0`). */
  readonly keepalive: boolean;
  readonly idleMs: number;
  readonly maxRequests: number;
  /** Longest time during which requests are accepted on a connection. */
  readonly lifeMs: number;
  /** Value of the header `Keep-Alive` in responses that leave the connection open. */
  readonly keepaliveHeader: string | undefined;
  /** Tells whether to close the connection of a client (`keepalive_disable`). Absent: none is closed. */
  readonly closesFor: ((client: Client) => boolean) | undefined;
  readonly lingering: LingeringRules;
  /** Connections that timed out are reset instead of closed. */
  readonly resetsTimedOut: boolean;
}

/** How a location shows its requests, which are of type `X`, in logs and traces. */
export interface ShownRequest<X> {
  /** Returns the id of a request where one may come with it; else a random one counts (`requestId`). */
  readonly requestId?: ((x: X) => string) | undefined;
  /** Returns the tags of lines of the error log (`error_log_tag`). */
  readonly logTags?: ((x: X) => readonly LogTag[]) | undefined;
}

/** The settings of a response that are plain configuration values. */
export interface ResponseSettings {
  /** Type of bodies without one of their own, for example the text of `return`. */
  readonly defaultType: string;
  /** 0: no limit. */
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly connection: ConnectionRules;
  /** `server_tokens`: the text of the `Server` header and of the built-in pages; '' sends no such header. */
  readonly serverToken: string;
  readonly redirects: RedirectRules;
  /** False: the end of the connection ends a response of unknown length, if the engine supports that. */
  readonly chunks: boolean;
  /** Pads built-in error pages, so that Internet Explorer and Chrome show them. */
  readonly msiePadding: boolean;
  /** Sends Internet Explorer a page that refreshes itself instead of a redirect. */
  readonly msieRefresh: boolean;
  /** An error page may have an error page. */
  readonly recursiveErrorPages: boolean;
  /** The longest response to a subrequest that is kept in memory. */
  readonly maxKeptBytes: number;
}
