import { type IncomingHttpHeaders, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';

/** A response whose whole body is a text. */
export interface TextResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Whose certificates are trusted; texts in PEM. */
export interface TrustSettings {
  /** Absent: the authorities that Node.js knows. */
  readonly ca?: string | undefined;
  readonly crl?: string | undefined;
  /** False: any certificate will do. */
  readonly rejectUnauthorized?: boolean;
}

interface FetchOptions {
  /** Default: `GET`, or `POST` with a body. */
  readonly method?: string | undefined;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Longest body of the response. */
  readonly mostBytes: number;
  readonly trust?: TrustSettings | undefined;
}

/**
 * Sends a request to a URL, on a connection of its own. Certificates are verified unless `trust` says otherwise; redirects are not followed. Rejects
 * with an error whose message names the host; its cause has the code of the connection's error.
 */
export function fetchText(url: string, options: FetchOptions): Promise<TextResponse> {
  const { method, body, headers = {}, signal, mostBytes, trust } = options;
  const { host } = new URL(url);
  return new Promise((resolve, reject) => {
    const request = url.startsWith('https:') ? tlsRequest : plainRequest;
    const failed = (message: string, cause?: Error): void =>
      reject(new Error(`${host}: ${message}`, { cause }));
    const settings = {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: body === undefined ? headers : { ...headers, 'Content-Length': Buffer.byteLength(body) },
      signal,
      agent: false,
      rejectUnauthorized: true,
      ...trust,
    };
    const sent = request(url, settings, (response) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes <= mostBytes) return void pieces.push(piece);
        failed(`the response is longer than ${mostBytes} bytes`);
        sent.destroy();
      });
      response.on('error', ({ message }) => failed(message));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(pieces).toString(),
        }),
      );
    });
    sent.on('error', (error) => failed(error.message, error));
    sent.end(body);
  });
}
