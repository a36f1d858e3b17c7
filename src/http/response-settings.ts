import type { RedirectRules } from './redirect.ts';

/** How a connection ends whose client may still be sending. */
export interface LingeringRules {
  /** `on`: when there is something to wait for; `always`: in any case. */
  readonly mode: 'off' | 'on' | 'always';
  readonly timeMs: number;
  /** Longest silence. */
  readonly silenceMs: number;
}

/** What tells one browser from another. */
interface Client {
  readonly request: { readonly method: string };
  header(name: string): string | undefined;
}

/** What a response means for the connection it goes out on. */
export interface ConnectionRules {
  /** False: every response closes it (`keepalive_timeout 0`, `keepalive_requests 0`). */
  readonly keepalive: boolean;
  readonly idleMs: number;
  readonly maxRequests: number;
  /** Longest life of a connection that carries requests. */
  readonly lifeMs: number;
  /** Value of the header `Keep-Alive` in responses that leave the connection open. */
  readonly keepaliveHeader: string | undefined;
  /** Whether this client's connection closes (`keepalive_disable`); absent: nobody's does. */
  readonly closesFor: ((client: Client) => boolean) | undefined;
  readonly lingering: LingeringRules;
  /** A connection that timed out is reset, not closed. */
  readonly resetsTimedOut: boolean;
}

/** What a response follows that the configuration says outright. */
export interface ResponseSettings {
  /** Type of bodies that come without one, for example the text of `return`. */
  readonly defaultType: string;
  /** 0: no limit. */
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly connection: ConnectionRules;
  /** `server_tokens`: what the `Server` header and the built-in pages say; '' sends no such header. */
  readonly serverToken: string;
  readonly redirects: RedirectRules;
  /** False: a response of unknown length ends with its connection, where the engine can do that. */
  readonly chunks: boolean;
  /** Built-in pages of errors are long enough for Internet Explorer and Chrome to show them. */
  readonly msiePadding: boolean;
  /** Internet Explorer gets a page that refreshes itself instead of a redirect. */
  readonly msieRefresh: boolean;
  /** An error page may have an error page. */
  readonly recursiveErrorPages: boolean;
}
