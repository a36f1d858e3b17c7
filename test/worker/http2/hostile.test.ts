import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { gatewayPerOptions, type Owner } from '../../harness/gateway.ts';
import { callHttp2 } from '../../harness/http2-client.ts';
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  fieldBlock,
  frame,
  getFrame,
  openFrames,
  type RawHttp2,
  resetFrame,
  windowFrame,
  words,
} from '../../harness/http2-frames.ts';
import { freePort } from '../../harness/ports.ts';
import { startPeer } from '../../harness/peer.ts';

const load = gatewayPerOptions();

const FILES = { 'html/big': 'x'.repeat(1_000_000) };

/** Sends the frames again and again, at most so many times, until the gateway closes the connection. */
async function repeat(client: RawHttp2, most: number, frames: (time: number) => Uint8Array): Promise<void> {
  for (let times = 0; times < most && !client.isClosed; times++) {
    client.send(frames(times));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const many = (sent: Uint8Array): Buffer => Buffer.concat(Array.from({ length: 1_000 }, () => sent));

/** Twenty at once: single ones may be too slow for any limit on a busy machine. */
function manyResets(time: number, path: string): Buffer {
  const streams = Array.from({ length: 20 }, (_, n) => 1 + 2 * (20 * time + n));
  return Buffer.concat(streams.flatMap((one) => [getFrame(one, path), resetFrame(one)]));
}

interface Flood {
  readonly it: string;
  readonly frames: (time: number) => Uint8Array;
  readonly most: number;
  readonly log: RegExp;
  readonly http?: string;
}

const FLOODS: readonly Flood[] = [
  {
    it: 'resets its requests at once',
    frames: (time) => manyResets(time, '/never'),
    most: 500,
    log: /client sent too many RST_STREAM frames while processing HTTP\/2 connection/,
  },
  {
    it: 'resets requests that are already served',
    frames: (time) => manyResets(time, '/big'),
    most: 5_000,
    log: /client sent too many RST_STREAM frames/,
  },
  {
    // gw's own limit is 1,200 of them. Before Node.js 22.10 that of nghttp2, 1,000, cannot be changed.
    it: 'resets more requests than nghttp2 admits',
    frames: (time) => manyResets(time, '/never'),
    most: 5_000,
    log: /client sent too many RST_STREAM frames/,
    http: 'http2_max_concurrent_streams 600;',
  },
  {
    it: 'sends settings and reads no acknowledgement',
    frames: () => many(frame(FRAME.settings)),
    most: 5_000,
    log: /Flooding was detected|http2 flood detected/,
  },
  {
    it: 'sends pings and reads no acknowledgement',
    frames: () => many(frame(FRAME.ping, { payload: Buffer.alloc(8) })),
    most: 5_000,
    log: /Flooding was detected|http2 flood detected/,
  },
  {
    it: 'sends window updates without end',
    frames: () => many(windowFrame(1)),
    most: 100_000,
    log: /http2 flood detected|window/i,
  },
  {
    it: 'sends a head that never ends',
    frames: (time) =>
      time === 0
        ? getFrame(1, '/', END_STREAM)
        : frame(FRAME.continuation, { stream: 1, payload: fieldBlock([[`x-${time}`, 'x'.repeat(1_000)]]) }),
    most: 1_000,
    log: /Too many CONTINUATION frames/,
  },
  {
    it: 'sends fields that unpack to more than they are',
    frames: (time) => bomb(1 + 2 * time),
    most: 20_000,
    log: /http2 flood detected|The user callback function failed/,
  },
  {
    it: 'sends empty pieces of a body',
    frames: (time) =>
      time === 0 ? getFrame(1, '/never', END_HEADERS) : many(frame(FRAME.data, { stream: 1 })),
    most: 5_000,
    log: /http2 flood detected|Too many invalid|Flooding/,
  },
];

/** A head with one large field in the table of HPACK, and a thousand references to it. */
function bomb(stream: number): Buffer {
  const fields = fieldBlock([
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', '/'],
    [':authority', 'a.example'],
  ]);
  const indexed = Buffer.concat([Buffer.from([0x40]), fieldBlock([['x-a', 'v'.repeat(3_500)]]).subarray(1)]);
  const references = Buffer.alloc(10_000, 0xbe);
  return frame(FRAME.headers, {
    flags: END_STREAM | END_HEADERS,
    stream,
    payload: Buffer.concat([fields, indexed, references]),
  });
}

for (const { it, frames, most, log, http = '' } of FLOODS) {
  test(`a client that ${it} is disconnected, and others are served`, async (t) => {
    const { port: silent } = await startPeer(t, 'silent', () => undefined);
    const gw = await load(
      t,
      (dir) =>
        `http2 on; keepalive_requests 1000000; ${http} server { location / { return 200 fine; } location /big { root ${dir}/html; } location /never { proxy_pass http://127.0.0.1:${silent}; } }`,
      { files: FILES },
    );
    const client = await openFrames(gw.port);
    if (it.includes('reads no')) client.stall();
    await repeat(client, most, frames);
    await expect.poll(() => client.isClosed).toBe(true);
    await gw.waitForLog(log);
    client.destroy();
    expect((await callHttp2(gw.port, '/')).body).toBe('fine');
  });
}

/** Accepts connections and never reads from them. */
async function startDeafPeer(t: Owner): Promise<number> {
  const sockets: Socket[] = [];
  const server = createServer({ pauseOnConnect: true }, (socket) => void sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const INITIAL_WINDOW = 4;

for (const { it, path } of [
  { it: 'a whole response', path: '/big' },
  { it: 'a response in pieces', path: '/pieces' },
]) {
  test(`a client without a window for ${it} loses the stream after send_timeout`, async (t) => {
    const gw = await load(
      t,
      (dir, port) =>
        `http2 on; send_timeout 300ms; server { location /big { root ${dir}/html; } location /pieces { proxy_pass http://127.0.0.1:${port}/big; } location / { return 200 fine; } }`,
      { files: FILES },
    );
    const client = await openFrames(gw.port, [INITIAL_WINDOW, 100]);
    client.send(getFrame(1, path));
    await expect
      .poll(() => client.frames.some(({ type, stream }) => type === FRAME.reset && stream === 1))
      .toBe(true);
    await gw.waitForLog(/client timed out \(110: Connection timed out\) while sending response to client/);
    client.send(getFrame(3, '/'));
    await expect
      .poll(() => client.frames.some(({ type, stream }) => type === FRAME.data && stream === 3))
      .toBe(true);
    client.destroy();
  });
}

test('a client without a window loses the stream whatever else it sends', async (t) => {
  const gw = await load(
    t,
    (dir) =>
      `http2 on; send_timeout 500ms; server { location / { root ${dir}/html; } location = /small { return 200 x; } }`,
    { files: FILES },
  );
  const client = await openFrames(gw.port, [INITIAL_WINDOW, 100]);
  client.send(getFrame(1, '/big'));
  let stream = 3;
  const others = setInterval(() => {
    client.send(frame(FRAME.ping, { payload: Buffer.alloc(8) }), getFrame(stream, '/small'));
    stream += 2;
  }, 50);
  await expect
    .poll(() => client.frames.some(({ type, stream: of }) => type === FRAME.reset && of === 1))
    .toBe(true);
  clearInterval(others);
  client.destroy();
});

for (const [it, more] of [
  ['', []],
  [', and ends its side', [undefined]],
] as const) {
  test(`a client that never reads its socket${it} is disconnected`, async (t) => {
    const gw = await load(
      t,
      (dir) =>
        `http2 on; send_timeout 300ms; keepalive_timeout 300ms; server { location /status { stub_status; } location / { root ${dir}/html; } }`,
      { files: { 'html/huge': 'x'.repeat(20_000_000) } },
    );
    const client = await openFrames(gw.port, [INITIAL_WINDOW, 2 ** 31 - 1]);
    client.send(windowFrame(0x7f000000), getFrame(1, '/huge'));
    await expect.poll(() => client.frames.length).toBeGreaterThan(2);
    client.stall();
    if (more.length > 0) client.end();
    const active = async (): Promise<string> =>
      (await callHttp2(gw.port, '/status')).body.split('\n')[0] ?? '';
    await expect.poll(active).toBe('Active connections: 1 ');
    client.destroy();
  });
}

const BROKEN: readonly { it: string; sent: Buffer }[] = [
  { it: 'a ping of four bytes', sent: frame(FRAME.ping, { payload: Buffer.alloc(4) }) },
  { it: 'data of no stream', sent: frame(FRAME.data, { payload: Buffer.alloc(1) }) },
  {
    it: 'a continuation of nothing',
    sent: frame(FRAME.continuation, { stream: 1, payload: Buffer.alloc(1) }),
  },
  { it: 'a frame that is too long', sent: frame(FRAME.data, { stream: 1, payload: Buffer.alloc(20_000) }) },
  {
    it: 'fields that cannot be unpacked',
    sent: frame(FRAME.headers, {
      stream: 3,
      flags: END_HEADERS,
      payload: Buffer.from([0xff, 0xff, 0xff, 0xff, 0x7f]),
    }),
  },
];

test('a client that breaks the protocol is disconnected, and its request ends', async (t) => {
  const { port: silent, requests } = await startPeer(t, 'silent', () => undefined);
  const gw = await load(
    t,
    `http2 on; client_header_timeout 500ms; server { location /status { stub_status; } location / { proxy_pass http://127.0.0.1:${silent}; } }`,
  );
  for (const [index, { sent }] of BROKEN.entries()) {
    const client = await openFrames(gw.port);
    client.send(getFrame(1, '/'));
    await expect.poll(() => requests).toHaveLength(index + 1);
    client.send(sent);
  }
  const active = async (): Promise<string> => (await callHttp2(gw.port, '/status')).body.split('\n')[0] ?? '';
  await expect.poll(active, { timeout: 10_000 }).toBe('Active connections: 1 ');
  expect(gw.read('access.log').match(/"GET \/ HTTP\/2\.0" 499/g)?.length).toBe(BROKEN.length);
});

const SELF = Buffer.concat([words(1), Buffer.from([16])]);
const PRIORITY = 0x20;

/** Errors that Node.js reports, with the codes that RFC 9113 gives them. */
const ERRORS: readonly { it: string; sent: Buffer; code: number }[] = [
  { it: 'a GOAWAY of a stream', sent: frame(FRAME.goaway, { stream: 1, payload: words(0, 0) }), code: 1 },
  { it: 'a request on an even stream', sent: getFrame(2, '/'), code: 1 },
  {
    it: 'a stream that depends on itself',
    sent: frame(FRAME.headers, {
      stream: 1,
      flags: END_STREAM | END_HEADERS | PRIORITY,
      payload: Buffer.concat([SELF, getFrame(1, '/').subarray(9)]),
    }),
    code: 1,
  },
  { it: 'a window update of nothing', sent: windowFrame(0), code: 1 },
  { it: 'too large a window', sent: windowFrame(2 ** 31 - 1), code: 3 },
];

test('a client that breaks the protocol is told how', async (t) => {
  const gw = await load(t, 'http2 on; server { location / { return 200 fine; } }');
  for (const { it, sent, code } of ERRORS) {
    const client = await openFrames(gw.port);
    client.send(sent);
    await expect.poll(() => client.isClosed).toBe(true);
    const goaway = client.frames.find(({ type }) => type === FRAME.goaway);
    expect([it, goaway?.stream, goaway?.payload.readUInt32BE(4)]).toEqual([it, 0, code]);
  }
});

test('requests beyond keepalive_requests that come at once are not processed, and harm nobody', async (t) => {
  const { port: upstream, requests } = await startPeer(t, 'fine');
  const gw = await load(
    t,
    `http2 on; keepalive_requests 5; server { location / { proxy_pass http://127.0.0.1:${upstream}; } location /own { return 200 own; } }`,
  );
  const ROUNDS = 30;
  for (let round = 0; round < ROUNDS; round++) {
    const client = await openFrames(gw.port);
    client.send(...Array.from({ length: 100 }, (_, n) => getFrame(1 + 2 * n, '/')));
    const ended = (): number =>
      client.frames.filter(({ type, flags }) => type === FRAME.data && (flags & END_STREAM) !== 0).length;
    await expect.poll(ended, { interval: 5 }).toBe(5);
    const goaway = client.frames.find(({ type }) => type === FRAME.goaway);
    expect(goaway?.payload.readUInt32BE(0)).toBe(9);
    client.destroy();
  }
  expect(requests).toHaveLength(5 * ROUNDS);
  expect((await callHttp2(gw.port, '/own')).body).toBe('own');
});

test('a connection on which nothing moves stays while its client responds to pings', async (t) => {
  const { port: silent } = await startPeer(t, 'late', (_, response) =>
    setTimeout(() => response.end('late'), 4_000),
  );
  const gw = await load(
    t,
    `http2 on; client_header_timeout 300ms; server { location / { proxy_pass http://127.0.0.1:${silent}; } }`,
  );
  expect((await callHttp2(gw.port, '/')).body).toBe('late');
});

test('a client that stops within a body loses the stream after client_body_timeout', async (t) => {
  const gw = await load(
    t,
    (_, port) =>
      `http2 on; client_body_timeout 300ms; server { location / { proxy_pass http://127.0.0.1:${port}/x; } location /x { return 200 fine; } }`,
  );
  const client = await openFrames(gw.port);
  client.send(getFrame(1, '/', END_HEADERS), frame(FRAME.data, { stream: 1, payload: Buffer.from('some') }));
  await expect.poll(() => gw.read('access.log')).toMatch(/"GET \/ HTTP\/2.0" 408/);
  // The response is whole, so the rest of the body is refused without an error (RFC 9113, 8.1).
  const reset = (): number | undefined =>
    client.frames.find(({ type, stream }) => type === FRAME.reset && stream === 1)?.payload.readUInt32BE(0);
  await expect.poll(reset).toBe(0);
  client.send(getFrame(3, '/x'));
  await expect
    .poll(() => client.frames.some(({ type, stream }) => type === FRAME.data && stream === 3))
    .toBe(true);
  client.destroy();
});

test('a client that stops within a head is disconnected after client_header_timeout', async (t) => {
  const gw = await load(
    t,
    'http2 on; client_header_timeout 300ms; server { location / { return 200 fine; } }',
  );
  const client = await openFrames(gw.port);
  client.send(getFrame(1, '/').subarray(0, 20));
  await expect.poll(() => client.isClosed).toBe(true);
  expect(client.frames.some(({ type }) => type === FRAME.goaway)).toBe(true);
});

test('a client that leaves within its requests is logged once for each', async (t) => {
  const { port: silent, requests } = await startPeer(t, 'silent', () => undefined);
  const gw = await load(t, `http2 on; server { location / { proxy_pass http://127.0.0.1:${silent}; } }`);
  const client = await openFrames(gw.port);
  client.send(getFrame(1, '/1'), getFrame(3, '/3'));
  await expect.poll(() => requests).toHaveLength(2);
  client.send(resetFrame(1));
  await expect.poll(() => gw.read('access.log')).toMatch(/"GET \/1 HTTP\/2.0" 499/);
  client.destroy();
  await expect.poll(() => gw.read('access.log')).toMatch(/"GET \/3 HTTP\/2.0" 499/);
  expect(gw.read('access.log').trim().split('\n')).toHaveLength(2);
});

test('a body is held back at the window while nobody reads it', async (t) => {
  const silent = await startDeafPeer(t);
  const gw = await load(
    t,
    `http2 on; client_max_body_size 0; server { location / { proxy_request_buffering off; proxy_pass http://127.0.0.1:${silent}; } }`,
  );
  const client = await openFrames(gw.port);
  client.send(getFrame(1, '/', END_HEADERS));
  const piece = frame(FRAME.data, { stream: 1, payload: Buffer.alloc(16_384) });
  let sent = 0;
  const granted = (): number =>
    client.frames
      .filter(({ type, stream }) => type === FRAME.windowUpdate && stream === 1)
      .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 262_144);
  // The buffers of the sockets take some megabytes; then no window is left.
  for (let pauses = 0; pauses < 20;) {
    if (granted() - sent >= 16_384) {
      client.send(piece);
      sent += 16_384;
      pauses = 0;
    } else {
      await new Promise((resolve) => setTimeout(resolve, 20));
      pauses++;
    }
  }
  expect(sent).toBeLessThan(20_000_000);
  client.destroy();
});

test('a port of a wrong preface serves on', async (t) => {
  const port = await freePort();
  const gw = await load(t, 'http2 on; server { location / { return 200 fine; } }', { port });
  const connection = await gw.connect();
  connection.write('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n');
  await connection.closed;
  expect((await callHttp2(port, '/')).body).toBe('fine');
});
