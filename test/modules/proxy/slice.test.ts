import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { type Origin, startOrigin } from './cache/origin.ts';

const load = oneGateway();
const onNode = oneGateway({ main: 'http_engine node;' });
const TEXT = '0123456789abcdefghijklmnopqrstuvwxyz';

/** The head of the response with a piece. */
interface Said {
  status?: number;
  etag?: string;
  /** `Content-Range` without its unit; '' for no header. */
  range?: string;
  body?: string;
}

/** Serves pieces of a text; `say` may change the head of one of them. */
const pieces =
  (text: Buffer, say: (from: number) => Said = () => ({})): Origin['respond'] =>
  (request: IncomingMessage, response: ServerResponse) => {
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const from = Number(first);
    const to = Math.min(Number(last) + 1, text.length);
    const { status = 206, etag = '"one"', range = `${from}-${to - 1}/${text.length}`, body } = say(from);
    response.writeHead(status, { ETag: etag, ...(range !== '' && { 'Content-Range': `bytes ${range}` }) });
    response.end(body ?? text.subarray(from, to));
  };

function sliced({ port }: Origin, location = '', size = '10'): string {
  return `proxy_cache_path cache${port} keys_zone=z${port}:1m;
    log_format pieces '$status $body_bytes_sent $upstream_cache_status $slice_range'; access_log access.log pieces;
    server { location / {
      slice ${size}; proxy_cache z${port}; proxy_cache_key $uri$slice_range; proxy_cache_valid 200 206 1h;
      proxy_set_header Range $slice_range; proxy_set_header X-Range $slice_range; ${location}
      proxy_pass http://127.0.0.1:${port};
    } }`;
}

/** Starts an upstream that records the requested pieces. */
async function startPieces(t: Parameters<typeof startOrigin>[0], respond: Origin['respond']) {
  const asked: string[] = [];
  const origin = await startOrigin(t);
  origin.respond = (request, response) => {
    asked.push(`${request.method} ${request.headers.range}`);
    respond(request, response);
  };
  return { origin, asked: () => asked.splice(0) };
}

test('each piece is fetched once, and kept for other ranges', async (t) => {
  const { origin, asked } = await startPieces(t, pieces(Buffer.from(TEXT)));
  const gw = await load(t, sliced(origin));
  const part = await gw.fetch('/a', { headers: { Range: 'bytes=12-25' } });
  expect([part.status, part.body]).toEqual([206, TEXT.slice(12, 26)]);
  expect(asked()).toEqual(['GET bytes=10-19', 'GET bytes=20-29']);
  expect((await gw.fetch('/a')).body).toBe(TEXT);
  expect(asked()).toEqual(['GET bytes=0-9', 'GET bytes=30-39']);
  const end = await gw.fetch('/a', { headers: { Range: 'bytes=-3' } });
  expect([end.status, end.body, asked()]).toEqual([206, 'xyz', []]);
  await gw.waitForAccessLog(/^206 14 MISS bytes=10-19\n200 36 MISS bytes=0-9\n206 3 HIT bytes=0-9\n$/);
});

test('a HEAD needs the first piece only', async (t) => {
  const { origin, asked } = await startPieces(t, pieces(Buffer.from(TEXT)));
  const gw = await load(t, sliced(origin));
  const response = await gw.fetch('/a', { method: 'HEAD' });
  expect([response.status, response.headers.get('content-length')]).toEqual([200, '36']);
  expect(asked()).toEqual(['GET bytes=0-9']);
});

test('a request with a body is passed on as it is', async (t) => {
  const { origin, asked } = await startPieces(t, (_request, response) => void response.end('done'));
  const gw = await load(t, sliced(origin));
  expect((await gw.fetch('/a', { method: 'POST', body: 'x' })).body).toBe('done');
  expect(asked()).toEqual(['POST undefined']);
});

const wrong: readonly { it: string; at?: number; said: Said; log: string; body?: string }[] = [
  {
    it: 'has another ETag',
    said: { etag: '"two"' },
    log: 'etag mismatch in slice response',
  },
  {
    it: 'has another status',
    said: { status: 200 },
    log: 'unexpected status code 200 in slice response',
  },
  {
    it: 'could not be fetched',
    said: { status: 503, range: '' },
    log: 'unexpected status code 503 in slice response',
  },
  {
    it: 'has no range',
    said: { range: '' },
    log: 'invalid range in slice response',
  },
  {
    it: 'has an unknown length',
    said: { range: '10-19/*' },
    log: 'no complete length in slice response',
  },
  {
    it: 'has another range',
    said: { range: '11-20/36', body: TEXT.slice(11, 21) },
    log: 'unexpected range in slice response: 11-21',
  },
  {
    it: 'is of a response of another length',
    said: { range: '10-19/40' },
    log: 'unexpected range in slice response: 10-20',
  },
  {
    it: 'is shorter than it should be',
    said: { range: '10-14/36', body: TEXT.slice(10, 15) },
    log: 'unexpected range in slice response: 10-15',
  },
];

for (const { it, said, log } of wrong) {
  test(`the response ends at a piece that ${it}`, async (t) => {
    const { origin } = await startPieces(
      t,
      pieces(Buffer.from(TEXT), (from) => (from === 10 ? said : {})),
    );
    const gw = await load(t, sliced(origin));
    const received = await gw.raw('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(received.split('\r\n\r\n')[1]).toBe(TEXT.slice(0, 10));
    await gw.waitForLog(new RegExp(`\\[error\\] .*${log.replaceAll(/[-:]/g, '\\$&')}`));
  });
}

test('a first piece with another range is a 502, since nothing has been sent yet', async (t) => {
  const { origin } = await startPieces(
    t,
    pieces(Buffer.from(TEXT), () => ({ range: '1-10/36' })),
  );
  const gw = await load(t, sliced(origin));
  expect((await gw.fetch('/a')).status).toBe(502);
  await gw.waitForLog(/\[error\] .*unexpected range in slice response: 1-11/);
});

test('an upstream that breaks off in a piece ends the response', async (t) => {
  const { origin } = await startPieces(t, (request, response) => {
    if (request.headers.range === 'bytes=0-9') return pieces(Buffer.from(TEXT))(request, response);
    response.writeHead(206, { ETag: '"one"', 'Content-Range': 'bytes 10-19/36', 'Content-Length': 10 });
    response.write('abc', () => request.socket.destroy());
  });
  const gw = await load(t, sliced(origin));
  const received = await gw.raw('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
  expect(TEXT.slice(0, 13).startsWith(received.split('\r\n\r\n')[1] ?? '-')).toBe(true);
});

test('a response of an upstream without ranges is passed on, with the range of the client', async (t) => {
  const { origin } = await startPieces(t, (_request, response) => {
    response.setHeader('Accept-Ranges', 'bytes').setHeader('ETag', '"whole"');
    response.end(TEXT);
  });
  const gw = await load(t, sliced(origin));
  expect((await gw.fetch('/a')).body).toBe(TEXT);
  const part = await gw.fetch('/a', { headers: { Range: 'bytes=12-25' } });
  expect([part.status, part.body]).toEqual([206, TEXT.slice(12, 26)]);
  expect((await gw.fetch('/a', { headers: { 'If-None-Match': '"whole"' } })).status).toBe(304);
});

test('X-Accel-Redirect of the first piece leads the request elsewhere', async (t) => {
  const { origin } = await startPieces(t, (_request, response) => {
    response.setHeader('X-Accel-Redirect', '/inside').end();
  });
  const gw = await load(
    t,
    sliced(origin).replace(
      / \} \}$/,
      ' } location /inside { internal; add_header X-In $uri; return 200 inside; } }',
    ),
  );
  const { body, headers } = await gw.fetch('/a');
  expect([body, headers.get('x-in')]).toEqual(['inside', '/inside']);
  await gw.waitForAccessLog(/^200 6 .*\n$/);
});

const LARGE = Buffer.alloc(8_000_000);
for (let at = 0; at < LARGE.length; at += 4) LARGE.writeUInt32LE(at, at);

for (const { it, location, size } of [
  { it: 'small pieces', location: '', size: '16k' },
  { it: 'large pieces', location: '', size: '1m' },
  { it: 'pieces that are not stored', location: 'proxy_no_cache 1;', size: '300k' },
  { it: 'pieces behind a filter', location: 'gzip on; gzip_types *; gzip_min_length 1;', size: '1m' },
]) {
  test(`a large response of ${it} comes whole, the second time too`, async (t) => {
    const { origin } = await startPieces(t, pieces(LARGE));
    const gw = await load(t, sliced(origin, location, size));
    for (const _ of [1, 2]) expect((await gw.fetch('/a')).bytes.equals(LARGE)).toBe(true);
    const part = await gw.fetch('/a', { headers: { Range: 'bytes=1000000-5999999' } });
    expect(part.bytes.equals(LARGE.subarray(1_000_000, 6_000_000))).toBe(true);
  });
}

test('pieces are fetched at the pace of the client, and none after it has left', async (t) => {
  const huge = 1_000_000_000;
  const piece = Buffer.alloc(1_048_576);
  const { origin, asked } = await startPieces(t, (request, response) => {
    const from = Number(/=(\d+)/.exec(request.headers.range ?? '')?.[1]);
    response.writeHead(206, { 'Content-Range': `bytes ${from}-${from + piece.length - 1}/${huge}` });
    response.end(piece);
  });
  const gw = await load(t, sliced(origin, '', '1m'));
  // The client does not read: a socket without a data listener fills only its buffer.
  const client = connect(gw.port, '127.0.0.1').on('error', () => undefined);
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  let count = 0;
  let before = -1;
  const settled = (): boolean => before === (before = count += asked().length) && count > 0;
  await expect.poll(settled, { interval: 200, timeout: 10_000 }).toBe(true);
  expect(count).toBeLessThan(50);
  client.destroy();
  await once(client, 'close');
  await gw.waitForAccessLog(/MISS bytes=0-1048575/);
  await expect.poll(settled, { interval: 200, timeout: 10_000 }).toBe(true);
  expect(count).toBeLessThan(52);
});

for (const { it, start } of [
  { it: 'uWebSockets.js', start: load },
  { it: 'the node engine', start: onNode },
]) {
  test(`a slow client of ${it} gets each piece from the disk with its own bytes`, async (t) => {
    const { origin } = await startPieces(t, pieces(LARGE));
    const gw = await start(t, sliced(origin, '', '16k'));
    await gw.expect('GET /a', { status: 200 });
    const client = connect(gw.port, '127.0.0.1');
    client.write('GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const received: Buffer[] = [];
    for await (const bytes of client) {
      received.push(bytes);
      await sleep(1);
    }
    const response = Buffer.concat(received);
    const body = response.subarray(response.indexOf('\r\n\r\n') + 4);
    expect(body.equals(LARGE)).toBe(true);
  });
}
