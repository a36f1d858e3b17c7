import type { BodyFraming, Carriers } from '../client/index.ts';
import type { ComplexValue } from '../config/index.ts';
import type { Exchange } from '../http/index.ts';
import type { UpstreamGroup } from '../upstream/index.ts';

/** The destination of one request. */
export interface Target {
  readonly group: UpstreamGroup;
  readonly connections: Carriers;
  /** The scheme before addresses in the log: `http`, `fastcgi`. */
  readonly scheme: string;
  /** `$proxy_host` and `$proxy_port`, in protocols that have them. */
  readonly proxyHost?: string;
  readonly proxyPort?: string;
}

/** A request before its head is written. */
export interface RequestedTarget<T extends Target> {
  readonly target: T;
  /** The URI to request from the upstream; see `Protocol.uriOf`. */
  readonly uri: string;
  /** Size of the body in bytes; 0: no body; -1: unknown. */
  readonly bodyBytes: number;
  /** Replaces the client's method, or the configured one. */
  readonly method?: string | undefined;
}

/** The head of a request, ready to be sent. */
export interface RequestHead {
  readonly head: string | Uint8Array;
  /** The encoding of a text; default: utf8. In latin1 a character is a byte. */
  readonly encoding?: 'latin1';
  /** The framing of the body; absent: it is sent unchanged. */
  readonly framing?: BodyFraming;
  /** The fields in HTTP/2, instead of `head`: name, value …; a character is a byte. */
  readonly fields?: readonly string[];
  readonly method: string;
  /** The protocols to which the upstream may change, in lower case; absent: none. */
  readonly upgrades?: readonly string[] | undefined;
  /** The requested object, in protocols whose responses name it. */
  readonly subject?: string;
}

export type HeadWriter<T extends Target> = (x: Exchange, asked: RequestedTarget<T>) => RequestHead;

/** Changes the value of a response header; `undefined` leaves it unchanged. */
export type HeaderRewrite = (x: Exchange, value: string) => string | undefined;

/** The properties of a protocol that concern responses. */
export interface ResponseProtocol {
  /** Headers that are not passed on by default. */
  readonly hiddenHeaders: readonly string[];
  /** By names in lower case. */
  readonly rewrites: ReadonlyMap<string, HeaderRewrite>;
  readonly passesTrailers: boolean;
  /** True: a 404 is sent as the gateway's own, because the protocol has no body for it. */
  readonly ownsNotFound?: true;
}

/** A protocol in one location: the destination of its requests, and how they are written. */
export interface Protocol<T extends Target> extends ResponseProtocol {
  /** Determines the destination of a request. Returns a promise only if a name has to be resolved. */
  targetOf(x: Exchange): T | Promise<T>;
  /** Returns the URI to request from the upstream; '' in protocols without one. */
  uriOf(x: Exchange, target: T): string;
  /** Compiles the writer of heads. With `isForCache`, it omits the client's conditions and ranges. */
  compileHead(isForCache: boolean): HeadWriter<T>;
  /** True if a body of unknown length can be passed on while it is received. */
  readonly takesUnknownLength: boolean;
  /** The `Range` to send instead of the client's. */
  readonly range: ComplexValue | undefined;
  /** Returns the key of responses without a `…_cache_key`. */
  defaultKey(x: Exchange, asked: Pick<RequestedTarget<T>, 'target' | 'uri'>): string;
  /** Present if connections may be encrypted. */
  readonly tls?: {
    /** The name that the peer's certificate must have. */
    nameOf(x: Exchange, target: T): string;
    /** True if the name is sent in the handshake. */
    readonly sendsName: boolean;
  };
}
