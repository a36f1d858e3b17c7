import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { readMembers } from '../../../upstream/index.ts';
import { MAX_SOURCE_BYTES, type Source, unreadable } from './source.ts';

/** A response of a source over HTTP. */
interface SourceResponse {
  readonly status: number;
  readonly etag: string | undefined;
  readonly text: string;
}

/** Sends a GET. Rejects with a `MemberFault`. Redirects are not followed. */
export function getText(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<SourceResponse> {
  const { host } = new URL(url);
  return new Promise((resolve, reject) => {
    const request = url.startsWith('https:') ? tlsRequest : plainRequest;
    const failed = (message: string): void => reject(unreadable(`${host}: ${message}`));
    const sent = request(url, { headers, signal, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes <= MAX_SOURCE_BYTES) return void pieces.push(piece);
        failed(`the response is longer than ${MAX_SOURCE_BYTES} bytes`);
        sent.destroy();
      });
      response.on('error', ({ message }) => failed(message));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          etag: response.headers.etag,
          text: Buffer.concat(pieces).toString(),
        }),
      );
    });
    sent.on('error', ({ message }) => failed(message));
    sent.end();
  });
}

/** `dynamic_upstreams_http`: a URL that gives the body of PUT. */
export function httpSource(url: string, headers: readonly (readonly [string, string])[]): Source {
  let etag: string | undefined;
  return {
    async ask(signal) {
      const own = Object.fromEntries(headers);
      const condition = etag === undefined ? {} : { 'If-None-Match': etag };
      const response = await getText(url, { Accept: 'application/json', ...own, ...condition }, signal);
      if (response.status === 304 && etag !== undefined) return undefined;
      if (response.status !== 200) throw unreadable(`${new URL(url).host}: status ${response.status}`);
      const members = readMembers(response.text, { allowsEmpty: true });
      etag = response.etag;
      return { members };
    },
  };
}
