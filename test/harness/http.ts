import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';

export interface ReceivedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  readonly bytes: Buffer;
}

export interface CallInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Uint8Array;
}

/** Sends a request on a connection of its own, and resolves with the head of its response. */
export function send(
  port: number,
  request: Pick<RequestOptions, 'path' | 'method' | 'headers'>,
  body: CallInit['body'],
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, agent: false as const, ...request };
    httpRequest(options, resolve).on('error', reject).end(body);
  });
}

/** One request on a connection of its own; the path goes out as written and redirects are not followed. */
export async function call(port: number, path: string, init: CallInit = {}): Promise<ReceivedResponse> {
  const { method = 'GET', headers = {}, body } = init;
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const message = await send(port, { path, method, headers: { ...length, ...headers } }, body);
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  return {
    status: message.statusCode ?? 0,
    headers: headersOf(message),
    body: bytes.toString('utf8'),
    bytes,
  };
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '');
  return headers;
}
