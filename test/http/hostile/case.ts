/** One raw request or several, and what the gateway must do with them. `guard`: the weakness of the engine that it concerns. */
export interface HostileCase {
  readonly guard: number;
  readonly it: string;
  /** latin1: one character is one byte. */
  readonly send: string;
  /** Statuses of the responses, in order; nothing else may come. */
  readonly statuses: readonly number[];
  /** `open`: the next request on the connection gets its own response. */
  readonly then: 'open' | 'closed';
  /** A text in the body of the first response. */
  readonly body?: string;
  /** Methods of the requests, where they decide how a response is read. */
  readonly methods?: readonly string[];
}

export const HOST = 'Host: a.example\r\n';

/** Follows a request that must not let it through. */
export const SMUGGLED = `GET /smuggled HTTP/1.1\r\n${HOST}\r\n`;

/** A request line and its header lines. */
export const head = (requestLine: string, headers = HOST): string => `${requestLine}\r\n${headers}\r\n`;
export const get = (target: string, headers = ''): string => head(`GET ${target} HTTP/1.1`, HOST + headers);
export const post = (headers: string, body = ''): string => head('POST / HTTP/1.1', HOST + headers) + body;
export const chunked = (chunks: string): string => post('Transfer-Encoding: chunked\r\n', chunks);
export const withHost = (value: string): string => head('GET / HTTP/1.1', `Host: ${value}\r\n`);

type Make = (guard: number, it: string, send: string) => HostileCase;

/** One response, then the connection closes. */
export const refused =
  (status: number): Make =>
  (guard, it, send) => ({ guard, it, send, statuses: [status], then: 'closed' });

export const served: Make = (guard, it, send) => ({ guard, it, send, statuses: [200], then: 'open' });

/** Served, with this in the body. */
export const shows =
  (body: string): Make =>
  (guard, it, send) => ({ ...served(guard, it, send), body });

/** Served, then closed: the beginning of a next request cannot be known. */
export const servedAlone = refused(200);

/** Bytes behind a request that is still being served: the connection closes without serving any of them. */
export const cut: Make = (guard, it, send) => ({ guard, it, send, statuses: [], then: 'closed' });
