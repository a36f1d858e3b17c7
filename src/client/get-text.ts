import { type IncomingHttpHeaders, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';

/** A response whose whole body is a text. */
export interface TextResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface GetOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Longest body. */
  readonly mostBytes: number;
}

/**
 * Sends a GET to a URL, on a connection of its own. Certificates are verified; redirects are not followed. Rejects with
 * an error whose message names the host.
 */
export function getText(url: string, { headers = {}, signal, mostBytes }: GetOptions): Promise<TextResponse> {
  const { host } = new URL(url);
  return new Promise((resolve, reject) => {
    const request = url.startsWith('https:') ? tlsRequest : plainRequest;
    const failed = (message: string): void => reject(new Error(`${host}: ${message}`));
    const options = { headers, signal, agent: false, rejectUnauthorized: true };
    const sent = request(url, options, (response) => {
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
    sent.on('error', ({ message }) => failed(message));
    sent.end();
  });
}
