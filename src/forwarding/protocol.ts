import type { BodyFraming, Carriers } from '../client/index.ts';
import type { ComplexValue } from '../config/index.ts';
import type { Exchange } from '../http/index.ts';
import type { UpstreamGroup } from '../upstream/index.ts';

/** The destination of one request. */
export interface Target {
  readonly group: UpstreamGroup;
  readonly connections: Carriers;
  /** In front of addresses in the log: `http`, `fastcgi`. */
  readonly scheme: string;
  /** `$proxy_host` and `$proxy_port`, in protocols that have them. */
  readonly proxyHost?: string;
  readonly proxyPort?: string;
}

/** A request that is to be written. */
export interface RequestedTarget<T extends Target> {
  readonly target: T;
  /** What the upstream is asked for; see `Protocol.uriOf`. */
  readonly uri: string;
  /** Size of the body in bytes; 0: no body; -1: not known. */
  readonly bodyBytes: number;
  /** Instead of the client's method, or the configured one. */
  readonly method?: string | undefined;
}

/** The head of a request, ready to be sent. */
export interface RequestHead {
  readonly head: string | Uint8Array;
  /** Of a text; default: utf8. In latin1 a character is a byte. */
  readonly encoding?: 'latin1';
  /** How the body is framed; absent: it is sent as it is. */
  readonly framing?: BodyFraming;
  /** Instead of `head`, in HTTP/2: name, value …; a character is a byte. */
  readonly fields?: readonly string[];
  readonly method: string;
  /** The protocols that the upstream may change to, in lower case; absent: none. */
  readonly upgrades?: readonly string[] | undefined;
  /** What is asked for, in protocols whose responses name it. */
  readonly subject?: string;
}

export type HeadWriter<T extends Target> = (x: Exchange, asked: RequestedTarget<T>) => RequestHead;

/** Changes the value of a response header; `undefined`: it stays as it is. */
export type HeaderRewrite = (x: Exchange, value: string) => string | undefined;

/** What a protocol says about responses. */
export interface ResponseProtocol {
  /** Headers that are not passed on by default. */
  readonly hiddenHeaders: readonly string[];
  /** By names in lower case. */
  readonly rewrites: ReadonlyMap<string, HeaderRewrite>;
  readonly passesTrailers: boolean;
  /** True: a 404 is the gateway's own, since the protocol has no body for it. */
  readonly ownsNotFound?: true;
}

/** What a protocol brings along for one location: where its requests go, and how they are written. */
export interface Protocol<T extends Target> extends ResponseProtocol {
  /** Determines the destination of a request; a promise only if a name has to be resolved. */
  targetOf(x: Exchange): T | Promise<T>;
  /** The URI that the upstream is asked for; '' in protocols without one. */
  uriOf(x: Exchange, target: T): string;
  /** Compiles what writes heads; `isForCache`: without the client's conditions and ranges. */
  compileHead(isForCache: boolean): HeadWriter<T>;
  /** True if a body whose length the client does not tell can be passed on while it is received. */
  readonly takesUnknownLength: boolean;
  /** The `Range` that is sent instead of the client's. */
  readonly range: ComplexValue | undefined;
  /** The key of responses without a `…_cache_key`. */
  defaultKey(x: Exchange, asked: Pick<RequestedTarget<T>, 'target' | 'uri'>): string;
  /** Present if connections may be encrypted. */
  readonly tls?: {
    /** The name that the peer's certificate must have. */
    nameOf(x: Exchange, target: T): string;
    /** Whether it is sent in the handshake. */
    readonly sendsName: boolean;
  };
}
