/** The port a request came in on. */
export interface PortFacts {
  readonly scheme: 'http' | 'https';
  /** 0 for a Unix socket. */
  readonly port: number;
  readonly address: string;
}

/** What a transport knows of a request when it makes the exchange. */
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
  readonly serial: number;
  /** The headers `Host` and `Referer` as they came: the error log shows them. */
  readonly hostHeader?: string | undefined;
  readonly referrer?: string | undefined;
  readonly httpVersion: '1.0' | '1.1';
}
