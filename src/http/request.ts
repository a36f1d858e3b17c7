import type { X509Certificate } from 'node:crypto';

/** The port that received a request. */
export interface PortFacts {
  readonly scheme: 'http' | 'https';
  /** 0 for a Unix socket. */
  readonly port: number;
  readonly address: string;
}

/** A request as received. Its fields are copies, so they stay valid across awaits. */
export interface RequestFacts {
  /** The first line as received, if the fields cannot reproduce it: malformed, HTTP/0.9, or an absolute target. */
  readonly line?: string | undefined;
  readonly method: string;
  /** As received, query included. */
  readonly requestUri: string;
  /** Decoded and normalised. */
  readonly uri: string;
  readonly args: string;
  /** Host name in lower case, without port; '' if the request has none. */
  readonly host: string;
  /** Host and port of a target in absolute form; '' or absent in origin form. */
  readonly authority?: string;
  /** The announced `Content-Length`; 0 without a body, -1 if the body has no announced length. */
  readonly contentLength: number;
  /** `$connection`: the number of the connection, or of the request if the engine does not expose connections. */
  readonly serial: number;
  /** The port that received it. */
  readonly port: PortFacts;
  /** The headers `Host` and `Referer` as received, for the error log. */
  readonly hostHeader?: string | undefined;
  readonly referrer?: string | undefined;
  readonly httpVersion: '1.0' | '1.1' | '2.0';
  /** The request headers that the build asked for, in order: name, value, name, value … */
  readonly headers: readonly string[];
  /** Absent on uWebSockets.js, which does not expose it. */
  readonly connection?: ConnectionFacts | undefined;
}

/** Returns the request line (`$request`): as received if it is malformed, and '' before it is complete. */
export function requestLineOf({ line, method, requestUri, httpVersion }: RequestFacts): string {
  return line ?? (method === '' ? '' : `${method} ${requestUri} HTTP/${httpVersion}`);
}

/** A subrequest to make on behalf of a request. */
export interface SubrequestFacts {
  /** A path, or `@name`. */
  readonly uri: string;
  /** Default: none. */
  readonly args?: string;
  /** Default: GET. */
  readonly method?: string;
  /** `parent`: the subrequest has the body of the client's request. Default: no body. */
  readonly body?: 'parent' | 'none';
  /**
   * The part of the response to keep: its head only, or each piece of its body, which is passed to a function. The
   * function resolves when it can take the next piece.
   */
  readonly keep: 'head' | ((piece: Uint8Array, response: SubrequestResponse) => Promise<void>);
}

/** The exchange of a subrequest while its body is passed on. */
interface SubrequestResponse {
  readonly status: number;
  /** The rules of the location that responds. */
  readonly rules: { readonly maxKeptBytes: number };
}

/** A client address that a trusted proxy sent. */
export interface RemoteFacts {
  readonly address: string;
  /** 0 if it is unknown. */
  readonly port: number;
}

/** The header of the PROXY protocol at the start of a connection. */
export interface ProxyProtocolFacts {
  /** The client's address; '' if the proxy did not send one. */
  readonly address: string;
  /** 0 if the proxy did not send one. */
  readonly port: number;
  readonly serverAddress: string;
  readonly serverPort: number;
  /** Type-length-value fields of version 2; values one character per byte. */
  readonly tlvs: readonly { readonly type: number; readonly value: string }[];
}

/** Where a request would be served: the location, and the module whose content handler would respond. */
export interface Rehearsed {
  readonly place: string;
  readonly path: string;
  /** `undefined` where no module serves the location, or the `if` or `limit_except` that replaces it. */
  readonly servedBy: string | undefined;
}

/** The result of a TLS handshake. Texts use OpenSSL's names; '' if a value is not available. */
export interface TlsFacts {
  readonly protocol: string;
  readonly cipher: string;
  /** The ciphers that the client offered. */
  readonly ciphers: string;
  readonly curve: string;
  /** The curves that the client offered. */
  readonly curves: string;
  readonly sessionId: string;
  readonly sessionReused: boolean;
  /** The name that the client asked for (SNI). */
  readonly serverName: string;
  readonly alpnProtocol: string;
  /** True if `serverName` is the name of a server, so that the handshake used that server's settings. */
  readonly namesServer: boolean;
  readonly client: ClientCertificate | undefined;
}

/** The certificate that a client sent. */
export interface ClientCertificate {
  readonly certificate: X509Certificate;
  /** Identifies the authorities that verified it; equal texts mean the same authorities. */
  readonly verifier: string;
  /** Absent if the verification succeeded. */
  readonly fault?: {
    /** OpenSSL's name without `X509_V_ERR_`. */
    readonly code: string;
    /** OpenSSL's message. */
    readonly text: string;
  };
}

/** The connection that a request came on. uWebSockets.js does not expose it. */
export interface ConnectionFacts {
  /** Number of requests on it so far, this one included. */
  readonly requests: number;
  /** Milliseconds since the epoch. */
  readonly startedMs: number;
  /** The request was received before the response to the one before it was complete. */
  readonly isPipelined: boolean;
  readonly proxyProtocol: ProxyProtocolFacts | undefined;
  readonly tls: TlsFacts | undefined;
}

/** A key for a value of type `T` that is stored with a request. */
export type StateKey<T> = symbol & { readonly valueType?: (value: T) => T };

/** Creates a unique key; `description` is for debugging. */
export function stateKey<T>(description: string): StateKey<T> {
  return Symbol(description);
}

/** The part of an exchange that stores the state of modules. */
export interface StateHolder {
  state<T>(key: StateKey<T>): T | undefined;
  setState<T>(key: StateKey<T>, value: T): void;
}

/** The effects of the rewrite directives on a request. */
export interface RewritePhase {
  /** The remaining steps of the phase are skipped (`break`, `last`). */
  isEnded: boolean;
  /** `uri` has been replaced in this phase: captures are inserted unescaped from then on (nginx). */
  hasReplacedUri: boolean;
  /** `uri` has changed: a location is searched again after the phase. */
  relocates: boolean;
  /** `rewrite … break` has changed `uri` within its location. The location's prefix may no longer match it. */
  hasLeftLocation: boolean;
}
