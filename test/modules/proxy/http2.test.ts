import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { type Gateway, oneGateway, type Owner, startGateway } from '../../harness/gateway.ts';
import { END_STREAM, FRAME, frame } from '../../harness/http2-frames.ts';
import { head, type Http2Upstream, part, startHttp2, startRawHttp2 } from '../../harness/http2-upstream.ts';
import { connectRaw } from '../../harness/raw.ts';

const load = oneGateway();

/** A gateway in front of one HTTP/2 upstream. */
function passing(
  t: Owner,
  { port }: { readonly port: number },
  { location = '', upstream = '' } = {},
): Promise<Gateway> {
  return load(
    t,
    `upstream h2 { server 127.0.0.1:${port}; ${upstream} }
     server { location / { proxy_http_version 2; ${location} proxy_pass http://h2; } }`,
  );
}

function answer(stream: ServerHttp2Stream, body: string | Buffer, headers = {}): void {
  stream.respond({ ':status': 200, 'content-type': 'text/plain', ...headers });
  stream.end(body);
}

test('a request goes out as a stream, without what belongs to HTTP/1', async (t) => {
  const upstream = await startHttp2(t, (stream) => answer(stream, 'hello', { 'x-own': 'yes' }));
  const gw = await passing(t, upstream, {
    location:
      'proxy_set_header X-Set "a b"; proxy_set_header Connection upgrade; proxy_set_header Upgrade $http_upgrade;',
  });
  const headers = {
    Connection: 'keep-alive, X-Hop',
    'X-Hop': '1',
    'X-Other': 'é',
    Upgrade: 'websocket',
    Proxy: 'x',
    TE: 'trailers',
  };
  await gw.expect('GET /a?b=c', { status: 200, body: 'hello', headers: { 'x-own': 'yes' } }, { headers });
  const [heard = {}] = upstream.heard;
  expect(Object.fromEntries(Object.entries(heard))).toEqual({
    ':method': 'GET',
    ':scheme': 'http',
    ':authority': 'h2',
    ':path': '/a?b=c',
    'x-set': 'a b',
    'x-other': expect.anything(),
  });
});

const bodies = [
  { it: 'buffered', location: '', chunked: true },
  { it: 'passed on while it is received', location: 'proxy_request_buffering off;', chunked: true },
  { it: 'of known length', location: '', chunked: false },
];

for (const { it, location, chunked } of bodies) {
  test(`a large body ${it} reaches the upstream whole`, async (t) => {
    const digest = createHash('sha256');
    const upstream = await startHttp2(t, (stream, headers) => {
      stream.on('data', (piece: Buffer) => digest.update(piece));
      stream.on('end', () =>
        answer(stream, digest.digest('hex'), { 'x-length': headers['content-length'] ?? '-' }),
      );
    });
    const gw = await passing(t, upstream, { location: `client_max_body_size 20m; ${location}` });
    const body = Buffer.alloc(3_000_001, 'abcdefg');
    const connection = await connectRaw(gw.port);
    const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`;
    connection.write(`POST / HTTP/1.1\r\nHost: a.example\r\n${framing}\r\nConnection: close\r\n\r\n`);
    if (chunked) connection.write(`${body.length.toString(16)}\r\n`);
    connection.write(body);
    if (chunked) connection.write('\r\n0\r\n\r\n');
    const text = await connection.closed;
    expect(text).toContain(createHash('sha256').update(body).digest('hex'));
    expect(text).toContain(`x-length: ${location === '' ? body.length : '-'}`);
  });
}

test('requests share one connection as far as the peer allows, and take another beyond that', async (t) => {
  const waiting: ServerHttp2Stream[] = [];
  const upstream = await startHttp2(t, (stream) => void waiting.push(stream), {
    settings: { maxConcurrentStreams: 4 },
  });
  const gw = await passing(t, upstream);
  const responses = Array.from({ length: 10 }, (_, n) => gw.fetch(`/${n}`));
  await expect.poll(() => waiting.length).toBe(10);
  expect(upstream.sessions.length).toBe(3);
  for (const stream of waiting) answer(stream, 'done');
  expect((await Promise.all(responses)).map(({ body }) => body)).toEqual(Array(10).fill('done'));
});

const keeping: readonly { it: string; upstream: string; requests: number; connections: number }[] = [
  { it: 'is kept', upstream: '', requests: 5, connections: 1 },
  {
    it: 'carries so many requests as "keepalive_requests" says',
    upstream: 'keepalive_requests 2;',
    requests: 5,
    connections: 3,
  },
  { it: 'is kept for nobody with "keepalive 0"', upstream: 'keepalive 0;', requests: 3, connections: 3 },
  { it: 'is replaced after "keepalive_time"', upstream: 'keepalive_time 1ms;', requests: 3, connections: 3 },
];

for (const { it, upstream: directives, requests, connections } of keeping) {
  test(`a connection ${it}`, async (t) => {
    const upstream: Http2Upstream = await startHttp2(t);
    const gw = await passing(t, upstream, { upstream: directives });
    for (let n = 0; n < requests; n++) await gw.expect('GET /', { status: 200, body: 'ok' });
    expect(upstream.sessions.length).toBe(connections);
  });
}

test('an idle connection is closed after "keepalive_timeout"', async (t) => {
  const upstream = await startHttp2(t);
  const gw = await passing(t, upstream, { upstream: 'keepalive_timeout 200ms;' });
  await gw.expect('GET /', { status: 200 });
  expect(upstream.open()).toBe(1);
  await expect.poll(() => upstream.open()).toBe(0);
});

test('more connections than "keepalive" says are closed as soon as they are idle', async (t) => {
  const waiting: (() => void)[] = [];
  const upstream = await startHttp2(t, (stream) => waiting.push(() => answer(stream, 'ok')), {
    settings: { maxConcurrentStreams: 1 },
  });
  const gw = await passing(t, upstream, { upstream: 'keepalive 1;' });
  const responses = Array.from({ length: 5 }, () => gw.fetch('/'));
  await expect.poll(() => waiting.length).toBe(5);
  for (const respond of waiting) respond();
  for (const response of responses) expect((await response).status).toBe(200);
  await expect.poll(() => upstream.open()).toBe(1);
});

test('a client that does not read holds its upstream back', async (t) => {
  let taken = 0;
  const upstream = await startHttp2(t, (stream) => {
    stream.respond({ ':status': 200 });
    const piece = Buffer.alloc(65_536);
    const write = (): void => {
      while (taken < 200_000_000 && stream.write(piece)) taken += piece.length;
      taken += piece.length;
    };
    stream.on('drain', write);
    write();
  });
  const gw = await passing(t, upstream);
  const client = connect(gw.port, '127.0.0.1').pause();
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  let before = -1;
  await expect.poll(() => before === (before = taken) && taken > 0, { interval: 300 }).toBe(true);
  expect(taken).toBeLessThan(16_000_000);
  // Another request on the same connection is served nevertheless.
  expect(upstream.sessions).toHaveLength(1);
  client.destroy();
});

test('an upstream that does not read holds its client back', async (t) => {
  const upstream = await startHttp2(t, (stream) => void stream.pause());
  const gw = await passing(t, upstream, { location: 'proxy_request_buffering off; client_max_body_size 0;' });
  const client = connect(gw.port, '127.0.0.1').on('error', () => undefined);
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 400000000\r\n\r\n');
  const piece = Buffer.alloc(65_536);
  let given = 0;
  const write = (): void => {
    while (given < 200_000_000 && client.write(piece)) given += piece.length;
    given += piece.length;
  };
  client.on('drain', write);
  write();
  let before = -1;
  await expect.poll(() => before === (before = given) && given > 0, { interval: 300 }).toBe(true);
  expect(given).toBeLessThan(32_000_000);
  client.destroy();
});

test('a request goes out before the peer has sent its settings', async (t) => {
  const { port, frames } = await startRawHttp2(
    t,
    (socket, { type, stream: id }) => {
      if (type !== FRAME.headers) return;
      // Another request waits: only settings tell how many the peer accepts.
      expect(frames.filter((one) => one.type === FRAME.headers)).toHaveLength(id === 1 ? 1 : 2);
      if (id === 1) socket.write(frame(FRAME.settings));
      socket.write(Buffer.concat([head()(id), part(`stream ${id}`, END_STREAM)(id)]));
    },
    Buffer.alloc(0),
  );
  const gw = await passing(t, { port });
  const responses = await Promise.all([gw.fetch('/'), gw.fetch('/')]);
  expect(responses.map(({ body }) => body).toSorted()).toEqual(['stream 1', 'stream 3']);
});

test('requests for which settings come too late are a 504, and the first one goes on', async (t) => {
  const held: (() => void)[] = [];
  const peer = await startRawHttp2(
    t,
    (socket, { type, stream: id }) => {
      if (type !== FRAME.headers) return;
      held.push(() =>
        socket.write(Buffer.concat([frame(FRAME.settings), head()(id), part('late', END_STREAM)(id)])),
      );
    },
    Buffer.alloc(0),
  );
  const gw = await passing(t, peer, { location: 'proxy_connect_timeout 300ms;' });
  const first = gw.fetch('/');
  await expect.poll(() => held.length).toBe(1);
  await gw.expect('GET /', { status: 504 });
  held[0]?.();
  expect((await first).body).toBe('late');
  // Its connection is kept.
  const third = gw.fetch('/');
  await expect.poll(() => held.length).toBe(2);
  held[1]?.();
  expect([(await third).body, peer.connections()]).toEqual(['late', 1]);
});

describe.runIf(HAS_OPENSSL)('over TLS', () => {
  const certificates = new Certificates();
  beforeAll(() => {
    certificates.authority('ca');
    certificates.signed('up', 'ca', { names: ['up.example'] });
  });

  test('HTTP/2 is what the handshake agrees on, and the name is verified', async (t) => {
    const tls = { key: certificates.read('up.key'), cert: certificates.read('up.crt') };
    const upstream = await startHttp2(t, (stream) => answer(stream, String(stream.session?.alpnProtocol)), {
      tls,
    });
    const gw = await load(
      t,
      `server { location / { proxy_http_version 2; proxy_ssl_verify on; proxy_ssl_name $arg_name; proxy_ssl_server_name on;
         proxy_ssl_trusted_certificate ${certificates.path('ca.crt')}; proxy_pass https://127.0.0.1:${upstream.port}; } }`,
    );
    for (let n = 0; n < 3; n++) await gw.expect('GET /?name=up.example', { status: 200, body: 'h2' });
    expect(upstream.sessions).toHaveLength(1);
    expect(upstream.heard[0]).toMatchObject({ ':scheme': 'https' });
    await gw.expect('GET /?name=other.example', { status: 502 });
  });

  test('a server that speaks no HTTP/2 over TLS is a 502', async (t) => {
    const key = certificates.read('up.key');
    const server = createHttpsServer({ key, cert: certificates.read('up.crt') }, (_, response) =>
      response.end(),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.onTestFinished(async () => void server.close());
    const { port } = server.address() as AddressInfo;
    const gw = await load(
      t,
      `server { location / { proxy_http_version 2; proxy_pass https://127.0.0.1:${port}; } }`,
    );
    await gw.expect('GET /', { status: 502 });
    await gw.waitForLog(/while SSL handshaking to upstream|violated HTTP\/2/);
  });
});

test('four workers share no connections, and reload keeps those of a group', async (t) => {
  const upstream = await startHttp2(t);
  const conf = `upstream h2 { server 127.0.0.1:${upstream.port}; }
    server { location / { proxy_http_version 2; proxy_pass http://h2; } }`;
  const gw = await startGateway(t, conf, { workers: 4 });
  const all = (): Promise<unknown> =>
    Promise.all(Array.from({ length: 200 }, () => gw.expect('GET /', { status: 200, body: 'ok' })));
  await all();
  expect(upstream.sessions.length).toBeLessThanOrEqual(8);
  const before = upstream.open();
  await gw.load(`${conf} server { listen unix:other.sock; }`, {});
  await all();
  expect(upstream.sessions.slice(0, before).every(({ destroyed }) => !destroyed)).toBe(true);
});
