import type { Level } from '../log/index.ts';
import type { BodyFilterOf } from './body-filter.ts';
import type { ExchangeState } from './exchange-state.ts';

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
  readonly requestMethod: string;
  header(name: string): string | undefined;
}

/** What an answer means for the connection it goes out on. */
export interface ConnectionRules {
  /** False: every answer closes it (`keepalive_timeout 0`, `keepalive_requests 0`). */
  readonly keepalive: boolean;
  readonly idleMs: number;
  readonly maxRequests: number;
  /** Longest life of a connection that carries requests. */
  readonly lifeMs: number;
  /** Value of the header `Keep-Alive` in answers that leave the connection open. */
  readonly keepaliveHeader: string | undefined;
  /** Whether this client's connection closes (`keepalive_disable`); absent: nobody's does. */
  readonly closesFor: ((client: Client) => boolean) | undefined;
  readonly lingering: LingeringRules;
  /** A connection that timed out is reset, not closed. */
  readonly resetsTimedOut: boolean;
}

/** What a redirect names besides the path. */
interface RedirectRules {
  /** False: only the path (`absolute_redirect off`). */
  readonly isAbsolute: boolean;
  /** The name of the server instead of the request's. */
  readonly byServerName: boolean;
  readonly withPort: boolean;
}

/** The `Location` of a redirect: a path gets scheme, host and port in front. */
export function redirectTarget(x: ExchangeState, target: string, rules: RedirectRules): string {
  if (!target.startsWith('/') || !rules.isAbsolute) return target;
  const { scheme, port, address } = x.port;
  const host = rules.byServerName ? x.serverName : x.host || address;
  const isUsual = port === 0 || port === (scheme === 'https' ? 443 : 80);
  return `${scheme}://${host}${isUsual || !rules.withPort ? '' : `:${port}`}${target}`;
}

/** What old Internet Explorers take for a redirect (nginx: `msie_refresh`). */
export function refreshPage(target: string): string {
  const url = target.replaceAll('"', '%22').replaceAll("'", '%27');
  return `<html><head><meta http-equiv="Refresh" content="0; URL=${url}"></head><body></body></html>\r\n`;
}

/** Why a request may not enter: the status, and headers that go with it: name, value, name, value … */
export interface Denial {
  readonly status: number;
  readonly headers?: readonly string[];
}

/** What one access check thinks; `undefined`: it has no opinion. `allowed` is enough for `satisfy any`. */
export type Verdict = 'allowed' | Denial | undefined;

/** Takes a piece of a body; resolves when the next one may come. */
type TakePiece = (piece: Uint8Array) => Promise<void>;

/** A request that the gateway makes to itself on behalf of another one. */
export interface SubrequestFacts {
  /** A path, or `@name`. */
  readonly uri: string;
  /** Default: none. */
  readonly args?: string;
  /** Default: GET. */
  readonly method?: string;
  /** `parent`: the body of the client's request. Default: none. */
  readonly body?: 'parent' | 'none';
  /** What of the answer is wanted: its head alone, or its body as it comes. */
  readonly keep: 'head' | TakePiece;
}

/** Sends a request of type `X` to another place of its server. What it gives never rejects. */
export interface RouterOf<X> {
  /** By URI with its query, through the server's rewrites and locations. */
  toUri(x: X, target: string): void | Promise<void>;
  /** By a decoded path, which may have a `?` in it; the query stays. */
  toPath(x: X, path: string): void | Promise<void>;
  toNamed(x: X, name: string): void | Promise<void>;
  /** Searches the location again for a URI that the rewrite phase changed. */
  relocate(x: X): void | Promise<void>;
  /** Resolves when the subrequest is answered; its exchange has the answer. */
  subrequest(parent: X, facts: SubrequestFacts): Promise<X>;
}

/** What the answer to a request of type `X` follows; the compile stage makes one per location and worker. */
export interface RulesOf<X> {
  /** Type of bodies that come without one, for example the text of `return`. */
  readonly defaultType: string;
  /** 0: no limit. */
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly connection: ConnectionRules;
  /** `server_tokens`: what the `Server` header and the built-in pages say; '' sends no such header. */
  readonly serverToken: string;
  /** The same, where it depends on the request. */
  readonly serverTokenOf?: ((x: X) => string) | undefined;
  readonly redirects: RedirectRules;
  /** False: an answer of unknown length ends with its connection, where the transport can do that. */
  readonly chunks: boolean;
  /** Built-in pages of errors are long enough for Internet Explorer and Chrome to show them. */
  readonly msiePadding: boolean;
  /** Internet Explorer gets a page that refreshes itself instead of a redirect. */
  readonly msieRefresh: boolean;
  /** Header filters, in order. */
  readonly filters: readonly ((x: X) => void)[];
  /** In the order in which a body passes them. */
  readonly bodyFilters: readonly BodyFilterOf<X>[];
  readonly logs: readonly ((x: X) => void)[];
  /** Answers a body that is too large in the location's own form; without it the 413 page. */
  readonly tooLarge?: ((x: X) => void | Promise<void>) | undefined;
  /** An error page may have an error page. */
  readonly recursiveErrorPages: boolean;
  /** What `error_page` does for a status, if anything. */
  readonly errorPages?: ReadonlyMap<number, (x: X) => void | Promise<void>> | undefined;
  /** The way around in the server. */
  readonly router: RouterOf<X>;
  /** Tells the error log; as an `error` unless another level is given. */
  readonly warn: (message: string, x: X, level?: Level) => void;
  /** Where subrequests are logged (`log_subrequest`): what logs them. */
  readonly subrequestLogs: readonly ((x: X) => void)[];
}
