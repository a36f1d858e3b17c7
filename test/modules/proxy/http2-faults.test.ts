import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type Gateway, oneGateway, type Owner, startGateway } from '../../harness/gateway.ts';
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  type ReceivedFrame,
  windowFrame,
  words,
} from '../../harness/http2-frames.ts';
import {
  field,
  goaway,
  head,
  OK_STATUS,
  part,
  type RawPeer,
  type React,
  reset,
  startHttp2,
  startRawHttp2,
  toRequests,
  trailersOf,
} from '../../harness/http2-upstream.ts';
import { connectRaw, exchangeRaw } from '../../harness/raw.ts';

const load = oneGateway();

/** A gateway in front of peers that are asked in turn. */
function passing(
  t: Owner,
  ports: readonly number[],
  location = 'proxy_connect_timeout 1s; proxy_read_timeout 1s;',
): Promise<Gateway> {
  const servers = ports.map((port) => `server 127.0.0.1:${port};`).join(' ');
  return load(
    t,
    `upstream h2 { ${servers} }
     server { location / { proxy_http_version 2;
       ${location} proxy_pass http://h2; }
       location = /own { return 200 own; } }`,
  );
}

const large = Array.from({ length: 60 }, (_, n) => field(`x-${n}`, 'v'.repeat(100)));

const LONG = 'proxy_read_timeout 20s;';
/** Before Node.js 22, it tells nobody, and gw finds out by itself. */
const UNREADABLE =
  /upstream violated HTTP\/2: (?:it sent an unreadable frame|Protocol error) while reading response header/;

/** Faults before the head of a response: the client gets a status, and the reason is logged. */
const faults: readonly {
  it: string;
  react: React;
  status?: number;
  says: RegExp;
  greeting?: Uint8Array;
  /** The fault is found long before this timeout. */
  location?: string;
}[] = [
  {
    it: 'resets the stream',
    react: toRequests(reset(2)),
    says: /upstream rejected request with error 2 \(INTERNAL_ERROR\) while reading response header/,
  },
  {
    it: 'cancels the stream',
    react: toRequests(reset(8)),
    says: /upstream rejected request with error 8 \(CANCEL\)/,
  },
  { it: 'always refuses streams', react: toRequests(reset(7)), says: /upstream refused the stream/ },
  {
    it: 'ends the connection with an error',
    react: toRequests(goaway(1, 11)),
    says: /upstream sent goaway with error 11 \(ENHANCE_YOUR_CALM\)/,
  },
  {
    it: 'closes the connection',
    react: (socket, { type }) => void (type === FRAME.headers && socket.end()),
    says: /upstream prematurely closed connection while reading response header/,
  },
  {
    it: 'breaks the connection',
    react: (socket, { type }) => void (type === FRAME.headers && socket.resetAndDestroy()),
    says: /Connection reset by peer|prematurely closed/,
  },
  {
    it: 'sends DATA without a head',
    react: toRequests(part('x')),
    says: UNREADABLE,
    location: LONG,
  },
  {
    it: 'sends a head that cannot be decompressed',
    react: toRequests((id) =>
      frame(FRAME.headers, { flags: END_HEADERS, stream: id, payload: Buffer.from([0xff, 0]) }),
    ),
    says: UNREADABLE,
    location: LONG,
  },
  {
    it: 'sends too long a frame',
    react: toRequests(() => frame(FRAME.ping, { payload: Buffer.alloc(20_000) })),
    says: UNREADABLE,
    location: LONG,
  },
  {
    it: 'sends a field that belongs to a connection',
    react: toRequests(head(field('transfer-encoding', 'chunked'))),
    says: /rejected request with error 1/,
  },
  {
    it: 'sends a head that is too large',
    react: toRequests(head(...large)),
    says: /upstream sent too big header while reading response header/,
  },
  {
    it: 'sends a head without end',
    react: floodHead,
    says: /upstream violated HTTP\/2: Too many CONTINUATION frames/,
  },
  {
    it: 'sends too many interim responses',
    react: toRequests(...Array.from({ length: 20 }, () => interim)),
    says: /too many interim responses/,
  },
  {
    it: 'is silent',
    react: () => undefined,
    status: 504,
    says: /upstream timed out \(110: Connection timed out\) while reading response header/,
  },
  {
    it: 'never tells its settings',
    react: () => undefined,
    greeting: Buffer.alloc(0),
    status: 504,
    says: /upstream timed out \(110: Connection timed out\) while reading response header/,
  },
  {
    it: 'speaks HTTP/1',
    react: () => undefined,
    greeting: Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
    says: /upstream violated HTTP\/2: .*while/,
  },
  {
    it: 'allows no streams',
    react: toRequests(reset(7)),
    greeting: frame(FRAME.settings, { payload: Buffer.from([0, 3, 0, 0, 0, 0]) }),
    says: /upstream refused the stream/,
  },
];

function interim(id: number): Buffer {
  return frame(FRAME.headers, { flags: END_HEADERS, stream: id, payload: field(':status', '103') });
}

function floodHead(socket: Socket, { type, stream: id }: ReceivedFrame): void {
  if (type !== FRAME.headers) return;
  const block = Buffer.concat(Array.from({ length: 100 }, () => field('x-a', 'v'.repeat(100))));
  socket.write(frame(FRAME.headers, { stream: id, payload: OK_STATUS }));
  for (let n = 0; n < 2_000; n++) socket.write(frame(FRAME.continuation, { stream: id, payload: block }));
}

for (const { it, react, status = 502, says, greeting, location } of faults) {
  test(`the client gets a ${status} if the upstream ${it}`, async (t) => {
    const { port } = await startRawHttp2(t, react, greeting);
    const gw = await passing(t, [port], location);
    await gw.expect('GET /', { status });
    await gw.waitForLog(says);
    // Whatever the peer did, the gateway serves the next request.
    await gw.expect('GET /', { status });
  });
}

/** Faults after the head: the client notices that the response is incomplete. */
const cuts: readonly { it: string; react: React; says: RegExp }[] = [
  {
    it: 'is reset without an error',
    react: toRequests(head(), part('hello'), reset(0)),
    says: /upstream prematurely closed connection while reading upstream/,
  },
  {
    it: 'is reset',
    react: toRequests(head(), part('hello'), reset(2)),
    says: /upstream rejected request with error 2 \(INTERNAL_ERROR\) while reading upstream/,
  },
  {
    it: 'is cancelled',
    react: toRequests(head(), part('hello'), reset(8)),
    says: /error 8 \(CANCEL\) while reading upstream/,
  },
  {
    it: 'is shorter than its length',
    react: toRequests(head(field('content-length', '9')), part('hello', END_STREAM)),
    says: /error 1 \(PROTOCOL_ERROR\) while reading upstream/,
  },
  {
    it: 'falls silent',
    react: toRequests(head(), part('hello')),
    says: /upstream timed out .* while reading upstream/,
  },
  {
    it: 'ends with its connection',
    react: (socket, { type, stream: id }) => {
      if (type === FRAME.headers) socket.end(Buffer.concat([head()(id), part('hello')(id)]));
    },
    says: /upstream prematurely closed connection while reading upstream/,
  },
  {
    it: 'has too large trailers',
    react: toRequests(head(), part('hello'), trailersOf(large)),
    says: /upstream sent too big trailers while reading upstream/,
  },
];

for (const { it, react, says } of cuts) {
  test(`a response that ${it} is cut`, async (t) => {
    const { port } = await startRawHttp2(t, react);
    const gw = await passing(t, [port]);
    await expect(gw.fetch('/')).rejects.toThrow(/aborted|reset|closed/);
    await gw.waitForLog(says);
  });
}

/** Requests that a peer has not processed are sent to another one, whatever their method. */
const retries: readonly { it: string; react: React; greeting?: Uint8Array }[] = [
  { it: 'refuses', react: toRequests(reset(7)) },
  { it: 'gives up with a GOAWAY', react: toRequests(goaway(0, 0)) },
  { it: 'gives up with a GOAWAY and an error', react: toRequests(goaway(0, 2)) },
  {
    it: 'leaves without a word',
    react: (socket, { type }) => void (type === FRAME.headers && socket.end()),
    greeting: Buffer.alloc(0),
  },
];

for (const { it, react, greeting } of retries) {
  for (const buffering of ['on', 'off']) {
    test(`a POST that a peer ${it} goes to the next one with its body (buffering ${buffering})`, async (t) => {
      const bad = await startRawHttp2(t, react, greeting);
      const good = await startHttp2(t, (stream) => {
        stream.respond({ ':status': 200 });
        stream.pipe(stream);
      });
      const gw = await passing(t, [bad.port, good.port], `proxy_request_buffering ${buffering};`);
      for (let n = 0; n < 4; n++)
        await gw.expect('POST /', { status: 200, body: `body ${n}` }, { body: `body ${n}` });
      expect(good.heard).toHaveLength(4);
    });
  }
}

/** The number of requests at a peer that serves only the first one of a kept connection. */
const repeats: readonly { it: string; code: number; rules?: string; asked: number }[] = [
  { it: 'refuses', code: 7, asked: 4 },
  { it: 'refuses, with one try,', code: 7, rules: 'next_upstream_tries 1;', asked: 4 },
  { it: 'resets without an error', code: 0, asked: 1 },
  { it: 'resets with an error', code: 2, asked: 1 },
];

for (const { it, code, rules, asked } of repeats) {
  for (const protocol of ['proxy', 'grpc']) {
    test(`a request that a peer ${it} on a kept connection is sent to it ${asked} times at most (${protocol}_pass)`, async (t) => {
      const served = head()(1);
      served[4] = END_HEADERS + END_STREAM;
      const peer = await startRawHttp2(t, (socket, { type, stream: id }) => {
        if (type === FRAME.headers) socket.write(id === 1 ? served : reset(code)(id));
      });
      const at = `${protocol === 'proxy' ? 'proxy_http_version 2; proxy_pass http' : 'grpc_pass grpc'}://127.0.0.1:${peer.port};`;
      const gw = await load(t, `server { location / { ${rules ? `${protocol}_${rules}` : ''} ${at} } }`);
      await gw.expect('GET /', { status: 200 });
      await gw.expect('GET /', { status: 502 });
      expect(peer.frames.filter(({ type }) => type === FRAME.headers)).toHaveLength(1 + asked);
      expect(peer.connections()).toBe(1);
    });
  }
}

for (const end of ['end', 'resetAndDestroy'] as const) {
  test(`a request that meets the end of a kept connection gets another one (${end})`, async (t) => {
    const peer = await startRawHttp2(t, (socket, { type, stream: id }) => {
      if (type !== FRAME.headers) return;
      if (id > 1) socket[end]();
      else socket.write(Buffer.concat([head()(id), part('ok', END_STREAM)(id)]));
    });
    const gw = await passing(t, [peer.port], 'proxy_next_upstream_tries 1;');
    for (let n = 0; n < 3; n++) await gw.expect('GET /', { status: 200, body: 'ok' });
    expect(peer.connections()).toBeGreaterThan(1);
  });
}

for (const buffering of ['on', 'off']) {
  test(`the client gets a 502 at once if a peer resets without an error before it has the body (buffering ${buffering})`, async (t) => {
    const peer = await startRawHttp2(t, toRequests(reset(0)));
    const gw = await passing(
      t,
      [peer.port],
      `client_body_buffer_size 256k; proxy_request_buffering ${buffering};`,
    );
    for (let n = 0; n < 2; n++) await gw.expect('POST /', { status: 502 }, { body: 'x'.repeat(200_000) });
    await gw.waitForLog(/upstream prematurely closed connection while (?:sending request|reading response)/);
    expect(peer.connections()).toBe(1);
  });
}

test('a GOAWAY lets the streams below it end, and further requests take another connection', async (t) => {
  const held: (() => void)[] = [];
  const peer: RawPeer = await startRawHttp2(t, (socket, { type, stream: id }, connection) => {
    if (type !== FRAME.headers) return;
    const respond = (): void =>
      void socket.write(Buffer.concat([head()(id), part(`from ${connection}`, END_STREAM)(id)]));
    if (connection > 0) return respond();
    held.push(respond);
    socket.write(goaway(id, 0)());
  });
  const gw = await passing(t, [peer.port]);
  const first = gw.fetch('/1');
  await expect.poll(() => held.length).toBe(1);
  await gw.expect('GET /2', { status: 200, body: 'from 1' });
  held[0]?.();
  expect((await first).body).toBe('from 0');
  await expect.poll(() => peer.open()).toBe(1);
});

test('the client gets a 504 after "proxy_send_timeout" if a peer accepts no more data', async (t) => {
  // A window that never opens again.
  const { port } = await startRawHttp2(t, () => undefined);
  const gw = await passing(t, [port], 'client_max_body_size 10m; proxy_send_timeout 500ms;');
  await gw.expect('POST /', { status: 504 }, { body: 'x'.repeat(1_000_000) });
  await gw.waitForLog(/upstream timed out \(110: Connection timed out\) while/);
});

test('fields that no client may get are left out of heads and trailers', async (t) => {
  const trailers = [field('x-good', 'yes'), field('x-bad', 'a\x01b'), field('content-length', '5')];
  const { port } = await startRawHttp2(
    t,
    toRequests(head(field('x-a', 'a\x01b'), field('x-b', 'b')), part('hello'), trailersOf(trailers)),
  );
  const gw = await passing(t, [port], 'proxy_pass_trailers on;');
  const text = await exchangeRaw(gw.port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*x-b: b\r\n/i);
  expect(text).not.toContain('\x01');
});

test('a peer that sends more than its window to a slow client loses the stream', async (t) => {
  const { port } = await startRawHttp2(
    t,
    toRequests(head(), ...Array.from({ length: 2_000 }, () => part('v'.repeat(16_384)))),
  );
  const gw = await passing(t, [port], 'proxy_read_timeout 30s;');
  const client = connect(gw.port, '127.0.0.1')
    .pause()
    .on('error', () => undefined);
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await gw.waitForLog(/upstream (?:violated HTTP\/2|rejected request with error 3).* while reading upstream/);
  expect(client.bytesRead).toBe(0);
  client.destroy();
});

test('a header with a name that HTTP/2 does not allow is left out, without an effect on other requests', async (t) => {
  const held: (() => void)[] = [];
  const upstream = await startHttp2(t, (stream, headers) => {
    const respond = (): void => {
      stream.respond({ ':status': 200 });
      stream.end(JSON.stringify(headers));
    };
    if (headers[':path'] === '/held') held.push(respond);
    else respond();
  });
  const gw = await startGateway(
    t,
    `server { ignore_invalid_headers off;
       location / { proxy_http_version 2; proxy_pass http://127.0.0.1:${upstream.port}; } }`,
    { main: 'http_engine node;' },
  );
  const first = gw.fetch('/held');
  await expect.poll(() => held.length).toBe(1);
  const text = await exchangeRaw(
    gw.port,
    'GET / HTTP/1.1\r\nHost: a\r\nX@Y: 1\r\nX-Z: 2\r\nConnection: close\r\n\r\n',
  );
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(text).toContain('"x-z":"2"');
  expect(text).not.toContain('x@y');
  held[0]?.();
  expect((await first).status).toBe(200);
  expect(upstream.sessions).toHaveLength(1);
});

/** Connections to a port of 127.0.0.1 that a process of this machine holds open. */
function connectionsTo(port: number): number {
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  return lines.filter((line) => /^ *\d+: \S+ (\S+) (01|08)/.exec(line)?.[1] === remote).length;
}

test.runIf(existsSync('/proc/net/tcp'))(
  'the connection of a peer that does not read is closed',
  async (t) => {
    const window = 0x7f000000;
    const { port } = await startRawHttp2(t, (socket, { type, stream: id }) => {
      if (type !== FRAME.headers) return;
      socket.write(windowFrame(window));
      socket.write(windowFrame(window, id), () => socket.pause());
    });
    const gw = await passing(t, [port], 'client_max_body_size 50m; proxy_send_timeout 300ms;');
    await gw.expect('POST /', { status: 504 }, { body: 'x'.repeat(30_000_000) });
    await expect.poll(() => connectionsTo(port), { timeout: 5_000 }).toBe(0);
  },
);

const floods = [
  { it: 'PING', bytes: frame(FRAME.ping, { payload: Buffer.alloc(8) }) },
  { it: 'SETTINGS', bytes: frame(FRAME.settings) },
  { it: 'resets', bytes: frame(FRAME.reset, { stream: 1, payload: words(8) }) },
  { it: 'empty DATA', bytes: frame(FRAME.data, { stream: 1 }) },
];

test.each(floods)('a peer that floods with $it costs its own client a response', async ({ bytes }) => {
  const t = { onTestFinished };
  const { port } = await startRawHttp2(t, (socket, { type }) => {
    if (type === FRAME.headers)
      for (let n = 0; n < 200; n++) socket.write(Buffer.alloc(bytes.length * 500, bytes));
  });
  const gw = await passing(t, [port]);
  const flooded = gw.fetch('/');
  await gw.expect('GET /own', { status: 200, body: 'own' });
  expect((await flooded).status).toBeGreaterThan(501);
  await gw.expect('GET /own', { status: 200, body: 'own' });
});

test('a client that leaves cancels its stream, and the others go on', async (t) => {
  const peer = await startRawHttp2(t, toRequests(head(), part('hello')));
  const gw = await passing(t, [peer.port]);
  const connections = await Promise.all([connectRaw(gw.port), connectRaw(gw.port)]);
  for (const connection of connections) {
    connection.write('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
    await connection.until(/hello/);
  }
  connections[0]?.destroy();
  const resets = (): readonly ReceivedFrame[] => peer.frames.filter(({ type }) => type === FRAME.reset);
  await expect.poll(() => resets().length).toBe(1);
  expect(resets()[0]?.payload.readUInt32BE(0)).toBe(8);
  expect(peer.connections()).toBe(1);
  expect(peer.open()).toBe(1);
  connections[1]?.destroy();
});

test('an upload that its client gives up is reset, and never ended', async (t) => {
  const peer = await startRawHttp2(t, () => undefined);
  const gw = await passing(t, [peer.port], 'proxy_request_buffering off;');
  const client = await connectRaw(gw.port);
  client.write('POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 10\r\n\r\nhalf');
  const sent = (type: number): readonly ReceivedFrame[] =>
    peer.frames.filter((one) => one.type === type && one.stream > 0);
  await expect.poll(() => sent(FRAME.data).length).toBe(1);
  client.destroy();
  await expect.poll(() => sent(FRAME.reset).length).toBe(1);
  expect(sent(FRAME.data).map(({ flags, payload }) => [flags, String(payload)])).toEqual([[0, 'half']]);
});

/** Window updates of a peer after a response that it sent before it had read the body. */
const roomAfterTheResponse = [
  {
    it: 'gives room',
    room: (id: number) => windowFrame(1 << 20, id),
  },
  { it: 'gives none', room: () => Buffer.alloc(0) },
];

for (const { it, room } of roomAfterTheResponse) {
  test(`a peer that responds before it has read the body, and then ${it}, gets a reset and the next request`, async (t) => {
    const whole = (id: number): Buffer =>
      frame(FRAME.headers, { flags: END_HEADERS + END_STREAM, stream: id, payload: OK_STATUS });
    const peer = await startRawHttp2(t, (socket, { type, stream: id }) => {
      if (type === FRAME.headers) socket.write(Buffer.concat([whole(id), room(id)]));
    });
    const gw = await passing(t, [peer.port], 'client_body_buffer_size 256k;');
    const resets = (): number => peer.frames.filter(({ type }) => type === FRAME.reset).length;
    for (const requests of [1, 2]) {
      const { status } = await gw.fetch('/', { method: 'POST', body: 'x'.repeat(200_000) });
      expect(status).toBe(200);
      await expect.poll(resets).toBe(requests);
    }
    expect(peer.connections()).toBe(1);
  });
}
