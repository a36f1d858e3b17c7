import type { X509Certificate } from 'node:crypto';

/** The port a request came in on. */
export interface PortFacts {
  readonly scheme: 'http' | 'https';
  /** 0 for a Unix socket. */
  readonly port: number;
  readonly address: string;
}

/** A request as it came. Its fields are copies: they stay valid across awaits. */
export interface RequestFacts {
  readonly method: string;
  /** As received, query included. */
  readonly requestUri: string;
  /** Decoded and normalised. */
  readonly uri: string;
  readonly args: string;
  /** Host name in lower case, without port; '' when the request has none. */
  readonly host: string;
  /** Bytes that the client announced; 0 without a body, -1 when it is chunked. */
  readonly contentLength: number;
  /** Number of the connection, or of the request where the engine does not tell of connections: `$connection`. */
  readonly serial: number;
  /** Where it came in. */
  readonly port: PortFacts;
  /** The headers `Host` and `Referer` as they came: the error log shows them. */
  readonly hostHeader?: string | undefined;
  readonly referrer?: string | undefined;
  readonly httpVersion: '1.0' | '1.1';
  /** The request headers that the build asked for, in order: name, value, name, value … */
  readonly headers: readonly string[];
  /** Absent where the engine does not tell (uWebSockets.js). */
  readonly connection?: ConnectionFacts | undefined;
}

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
  /** What of the response is wanted: its head alone, or its body as it comes; the promise resolves when the next piece may. */
  readonly keep: 'head' | ((piece: Uint8Array) => Promise<void>);
}

/** An address that stands for the client's own: what a trusted proxy told. */
export interface RemoteFacts {
  readonly address: string;
  /** 0 where nobody told. */
  readonly port: number;
}

/** What the PROXY protocol told at the begin of a connection. */
export interface ProxyProtocolFacts {
  /** The client's address; '' when the proxy did not say. */
  readonly address: string;
  /** 0 when the proxy did not say. */
  readonly port: number;
  readonly serverAddress: string;
  readonly serverPort: number;
  /** Type-length-value fields of version 2; values one character per byte. */
  readonly tlvs: readonly { readonly type: number; readonly value: string }[];
}

/** What a TLS handshake agreed on. Texts are as OpenSSL names things; '' where there is nothing to tell. */
export interface TlsFacts {
  readonly protocol: string;
  readonly cipher: string;
  /** What the client offered. */
  readonly ciphers: string;
  readonly curve: string;
  /** What the client offered. */
  readonly curves: string;
  readonly sessionId: string;
  readonly sessionReused: boolean;
  /** The name that the client asked for (SNI). */
  readonly serverName: string;
  readonly alpnProtocol: string;
  /** That name is one of a server's, so that the handshake was made with that one. */
  readonly namesServer: boolean;
  readonly client: ClientCertificate | undefined;
}

/** The certificate that a client sent. */
export interface ClientCertificate {
  readonly certificate: X509Certificate;
  /** What it was verified against; texts that are equal stand for the same. */
  readonly verifier: string;
  /** Absent: it verified. */
  readonly fault?: {
    /** As OpenSSL names it, without `X509_V_ERR_`. */
    readonly code: string;
    /** In OpenSSL's words. */
    readonly text: string;
  };
}

/** What a transport knows of the connection that a request came in on. uWebSockets.js tells nothing of it. */
export interface ConnectionFacts {
  /** Requests on it so far, this one included. */
  readonly requests: number;
  /** Milliseconds since the epoch. */
  readonly startedMs: number;
  readonly proxyProtocol: ProxyProtocolFacts | undefined;
  readonly tls: TlsFacts | undefined;
}
