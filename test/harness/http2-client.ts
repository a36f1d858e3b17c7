import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
  type SecureClientSessionOptions,
} from 'node:http2';
import type { CallInit, ReceivedResponse } from './http.ts';

/** A response over HTTP/2. */
export interface StreamResponse extends ReceivedResponse {
  readonly trailers: IncomingHttpHeaders;
  /** Fields in order: name, value, name, value … */
  readonly fields: readonly string[];
  /** Statuses of the interim responses before it. */
  readonly interim: readonly number[];
}

/** Headers as in HTTP/1, whose `Host` and connection become fields of HTTP/2. */
function fieldsOf(
  path: string,
  { method = 'GET', headers = {} }: CallInit,
): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = { ':method': method, ':path': path };
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (lower === 'host') fields[':authority'] = value;
    else if (lower !== 'connection') fields[lower] = value;
  }
  return fields;
}

/** Opens an HTTP/2 connection with prior knowledge, or with TLS where there are options for it. */
export function openHttp2(port: number, tls?: SecureClientSessionOptions): ClientHttp2Session {
  const session = connect(`${tls ? 'https' : 'http'}://127.0.0.1:${port}`, tls);
  // The error also rejects the response that a test waits for.
  session.on('error', () => undefined);
  return session;
}

/** Sends one request on an open connection; rejects if its stream is reset. */
export function callOn(
  session: ClientHttp2Session,
  path: string,
  init: CallInit = {},
): Promise<StreamResponse> {
  const stream = session.request(fieldsOf(path, init), { endStream: init.body === undefined });
  if (init.body !== undefined) stream.end(init.body);
  return responseOn(stream);
}

/** Resolves with the whole response on a stream. */
export function responseOn(stream: ClientHttp2Stream): Promise<StreamResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const interim: number[] = [];
    let received: { status: number; fields: readonly string[] } | undefined;
    let trailers: IncomingHttpHeaders = {};
    stream.on('headers', (fields) => interim.push(Number(fields[':status'])));
    stream.on('response', (...[headers, , fields]: [IncomingHttpHeaders, number, string[]?]) => {
      received = { status: Number(headers[':status']), fields: fields ?? [] };
    });
    stream.on('trailers', (fields) => (trailers = fields));
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('close', () => {
      if (!received || stream.rstCode !== 0)
        return reject(new Error(`the stream was reset with code ${stream.rstCode}`));
      const bytes = Buffer.concat(chunks);
      const headers = new Headers();
      const { fields } = received;
      for (let at = 0; at < fields.length; at += 2)
        if (!fields[at]?.startsWith(':')) headers.append(fields[at] ?? '', fields[at + 1] ?? '');
      resolve({ ...received, headers, bytes, body: bytes.toString(), trailers, interim });
    });
  });
}

/** One request over HTTP/2 on a connection of its own. */
export async function callHttp2(port: number, path: string, init: CallInit = {}): Promise<StreamResponse> {
  const session = openHttp2(port);
  try {
    return await callOn(session, path, init);
  } finally {
    session.destroy();
  }
}
