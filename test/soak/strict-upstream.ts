import type { Owner } from '../harness/owner.ts';
import { listening } from './listening.ts';

/**
 * An upstream must get exactly one well-formed request after another, and only requests that are forwarded. The target
 * is as the client wrote it (`///echo`, `/a/../echo`), as in nginx where `proxy_pass` has no path.
 */
const HEAD = /^[A-Z_-]+ \/[!-~\u0080-\u00ff]* HTTP\/1\.[01]$/;
const FIELD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+: ?[\t -~\u0080-\u00ff]*$/;

/** What it sends instead of its usual response, by a word in the target. */
const OTHERS: Readonly<Record<string, (request: Seen) => string>> = {
  // A page of one client, as a program sends it that knows nothing of caches in front of it.
  '~mine': ({ cookie }) => response(200, `page of ${cookie}`),
  // The same, as libraries of server-sent events send it.
  '~live': ({ cookie }) => response(200, `page of ${cookie}`, 'X-Accel-Buffering: no'),
  '~gone': () => response(404, 'gone', 'X-Accel-Redirect: /inside/secret'),
  '~switch': ({ upgrade }) =>
    `HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: ${upgrade || 'h2c'}\r\n\r\n`,
};

function response(status: number, body: string, ...fields: readonly string[]): string {
  const lines = [
    `HTTP/1.1 ${status} ${status === 200 ? 'OK' : 'Not Found'}`,
    'Content-Type: text/plain',
    ...fields,
  ];
  return `${lines.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Responds with its target and the size of the body; reports what it should never have got. */
export function startStrictUpstream(
  owner: Owner,
  tell: (message: string, seen: string) => void,
): Promise<number> {
  return listening(owner, (socket) => {
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      for (;;) {
        const request = takeRequest(text);
        if (request === undefined) break;
        if (typeof request === 'string') {
          tell(request, text.slice(0, 2_000));
          socket.destroy();
          break;
        }
        text = text.slice(request.length);
        if (request.target.includes('~cut'))
          return void socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf`);
        if (request.target.includes('~reset')) return void socket.resetAndDestroy();
        if (request.target.includes('~junk')) return void socket.end('\0\r\nHTTP/1.1 200\n\n');
        const other = Object.keys(OTHERS).find((word) => request.target.includes(word));
        const whole =
          OTHERS[other ?? '']?.(request) ?? response(200, `${request.target} ${request.body.length}`);
        socket.write(request.method === 'HEAD' ? whole.slice(0, whole.indexOf('\r\n\r\n') + 4) : whole);
      }
    });
  });
}

interface Seen {
  readonly length: number;
  readonly method: string;
  readonly target: string;
  readonly body: string;
  readonly cookie: string;
  readonly upgrade: string;
}

/** The first request in the bytes; a text says what is wrong with it; `undefined` while it is not complete. */
function takeRequest(text: string): Seen | string | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...fields] = text.slice(0, end).split('\r\n');
  if (!HEAD.test(first)) return 'an upstream got a request line that nobody forwards';
  const odd = fields.find((field) => !FIELD.test(field));
  if (odd !== undefined) return 'an upstream got a malformed header line';
  const values = (name: string) =>
    fields
      .filter((field) => field.toLowerCase().startsWith(`${name}:`))
      .map((field) => field.slice(name.length + 1).trim());
  const [hosts, lengths, codings] = [values('host'), values('content-length'), values('transfer-encoding')];
  if (hosts.length !== 1) return `an upstream got ${hosts.length} Host headers`;
  if (lengths.length + codings.length > 1) return 'an upstream got more than one length';
  if (lengths.some((length) => !/^\d{1,15}$/.test(length)))
    return 'an upstream got a length that is no number';
  if (codings.some((coding) => coding !== 'chunked')) return 'an upstream got a coding that is not "chunked"';
  const rest = text.slice(end + 4);
  const body = codings.length > 0 ? takeChunks(rest) : takeBytes(rest, Number(lengths[0] ?? 0));
  if (body === undefined || typeof body === 'string') return body;
  const [method = '', target = ''] = first.split(' ');
  const [cookie = '', upgrade = ''] = [values('cookie')[0], values('upgrade')[0]];
  return { length: end + 4 + body.length, method, target, body: body.content, cookie, upgrade };
}

type Taken = { readonly length: number; readonly content: string };

function takeBytes(text: string, length: number): Taken | undefined {
  return text.length < length ? undefined : { length, content: text.slice(0, length) };
}

function takeChunks(text: string): Taken | string | undefined {
  let content = '';
  for (let at = 0; ;) {
    const lineEnd = text.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = text.slice(at, lineEnd);
    if (!/^[\da-f]{1,8}$/i.test(size)) return 'an upstream got a chunk size that is no number';
    const length = Number.parseInt(size, 16);
    at = lineEnd + 2;
    if (text.length < at + length + 2) return undefined;
    if (text.slice(at + length, at + length + 2) !== '\r\n')
      return 'an upstream got a chunk longer than its size';
    content += text.slice(at, at + length);
    at += length + 2;
    if (length === 0) return { length: at, content };
  }
}
