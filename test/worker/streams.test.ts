import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test, type TestContext } from 'vitest';
import { type BodyFilter, type Exchange, type Handler, type ResponseStream } from '../../src/http/index.ts';
import { connectRaw } from '../harness/raw.ts';
import { CONNECTION } from '../harness/rules.ts';
import { GET, LAST_GET, lines, responseTo, serve } from './serve.ts';

const PIECE = Buffer.alloc(100_000, 'x');
const CLOSES = { connection: { ...CONNECTION, keepalive: false } };
const CLOSE = { rules: CLOSES };

/** Writes this number of pieces, as fast as the client takes them. */
async function writePieces(stream: ResponseStream | undefined, count: number): Promise<void> {
  for (let index = 0; stream && index < count; index++) if (!stream.write(PIECE)) await stream.drained();
  stream?.end();
}

const send =
  (lengthBytes: number, pieces: number): Handler =>
  (x) =>
    writePieces(x.stream(200, 'text/plain', lengthBytes), pieces);

async function bodyOf(port: number, request = LAST_GET): Promise<{ head: string; body: string }> {
  const received = await responseTo(port, request);
  const end = received.indexOf('\r\n\r\n');
  return { head: received.slice(0, end), body: received.slice(end + 4) };
}

for (const { it, rules, method, sent } of [
  { it: 'comes whole', rules: {}, method: 'GET', sent: 3_000_000 },
  { it: 'comes whole before its connection closes', ...CLOSE, method: 'GET', sent: 3_000_000 },
  { it: 'has a head with its length for HEAD', ...CLOSE, method: 'HEAD', sent: 0 },
]) {
  test(`a stream of known length ${it}`, async (t) => {
    const port = await serve(t, { rules, serve: send(3_000_000, 30) });
    const { head, body } = await bodyOf(port, LAST_GET.replace('GET', method));
    expect(head).toMatch(/Content-Length: 3000000/);
    expect(body.length).toBe(sent);
  });
}

for (const pieces of ['a', 'ab', 'a,b', 'a,bc,d', `a,${'b'.repeat(200_000)},c`]) {
  test(`a stream whose connection closes may come in small pieces: ${pieces.slice(0, 8)}`, async (t) => {
    const body = pieces.replaceAll(',', '');
    const port = await serve(t, {
      ...CLOSE,
      serve: async (x) => {
        const stream = x.stream(200, 'text/plain', body.length);
        for (const piece of pieces.split(',')) if (!stream?.write(piece)) await stream?.drained();
        stream?.end();
      },
    });
    const response = await bodyOf(port);
    expect(response.head).toContain(`Content-Length: ${body.length}`);
    expect(response.body).toBe(body);
  });
}

test('the next request on the connection is in step behind a stream of known length', async (t) => {
  const port = await serve(t, {
    serve: (x) => (x.uri === '/' ? send(200_000, 2)(x) : x.send(200, '', 'next')),
  });
  const connection = await connectRaw(port);
  connection.write(GET);
  await expect.poll(() => connection.received().length).toBeGreaterThan(200_000);
  connection.write(GET.replace('/', '/next'));
  const [, , last = ''] = (await connection.until(/next$/)).split('HTTP/1.1 200 OK');
  expect(last).toMatch(/Content-Length: 4/);
  connection.destroy();
});

for (const [it, lengthBytes, pieces, body] of [
  ['shorter than announced is cut', 300_000, 2, /^(?!x{300000})x*$/],
  ['longer than announced ends at its length', 150_000, 2, /^x{150000}$/],
  ['empty as announced has no body', 0, 0, /^$/],
] as const) {
  test(`a stream that is ${it}`, async (t) => {
    const port = await serve(t, { ...CLOSE, serve: send(lengthBytes, pieces) });
    const response = await bodyOf(port);
    expect(response.head).toContain(`Content-Length: ${lengthBytes}`);
    expect(response.body).toMatch(body);
  });
}

test('a client that leaves lets the writer of a stream go on', async (t) => {
  let finish: ((isAborted: boolean) => void) | undefined;
  const finished = new Promise<boolean>((resolve) => (finish = resolve));
  const port = await serve(t, {
    serve: async (x: Exchange) => {
      await writePieces(x.stream(200, '', 1_000_000_000), 10_000);
      finish?.(x.aborted);
    },
  });
  const socket = connect(port, '127.0.0.1', () => socket.write(GET));
  socket.once('data', () => socket.destroy());
  expect(await finished).toBe(true);
});

const upperCase: BodyFilter = {
  wants: (x) => x.status === 200,
  open: () => ({
    whole: (body) => Buffer.from(Buffer.from(body).toString().toUpperCase()),
    write: (piece) => Buffer.from(Buffer.from(piece).toString().toUpperCase()),
    end: () => Buffer.from('!'),
  }),
};

/** Holds every piece back for a turn of the event loop. */
const slow: BodyFilter = {
  wants: () => true,
  open: () => ({
    write: (piece) => new Promise((resolve) => setImmediate(() => resolve(piece))),
    end: () => Buffer.from('?'),
  }),
};

const broken: BodyFilter = {
  wants: () => true,
  open: () => ({ write: () => Promise.reject(new Error('broken')), end: () => new Uint8Array(0) }),
};

for (const [it, bodyFilters, expected] of [
  ['converts a whole body at once', [upperCase], 'HELLO'],
  ['passes one filter after the other', [upperCase, slow], 'HELLO!?'],
  ['keeps its order behind a filter that waits', [slow, upperCase], 'HELLO?!'],
] as const) {
  test(`a response ${it}`, async (t) => {
    const port = await serve(t, {
      rules: { ...CLOSES, bodyFilters },
      serve: (x) => x.send(200, '', 'hello'),
    });
    const { head, body } = await bodyOf(port);
    expect(dechunked(head, body)).toBe(expected);
  });
}

test('a filter sees bodies that it may not change', async (t) => {
  const rules = { ...CLOSES, bodyFilters: [upperCase] };
  const port = await serve(t, { rules, serve: (x) => x.send(404, '', 'hello') });
  expect((await bodyOf(port)).body).toBe('hello');
});

test('a filter that fails cuts the connection and is logged', async (t) => {
  const port = await serve(t, { rules: { bodyFilters: [broken] }, serve: (x) => x.send(200, '', 'hello') });
  expect((await bodyOf(port)).body).toBe('');
  expect(lines).toContain('the body of a response could not be made: Error: broken');
});

test('a response at a limited rate comes whole', async (t) => {
  const port = await serve(t, {
    ...CLOSE,
    serve: (x) => {
      x.response.changeRate({ bytesPerSecond: 1_000_000, afterBytes: 250_000 });
      return send(300_000, 3)(x);
    },
  });
  expect((await bodyOf(port)).body.length).toBe(300_000);
});

for (const [it, framing, body] of [
  ['of known length', 'Content-Length: 300000', 'y'.repeat(300_000)],
  ['in chunks', 'Transfer-Encoding: chunked', `493e0\r\n${'y'.repeat(300_000)}\r\n0\r\n\r\n`],
] as const) {
  test(`a request body ${it} comes in pieces, one at a time`, async (t) => {
    let open = 0;
    let most = 0;
    const port = await serve(t, {
      ...CLOSE,
      serve: async (x) => {
        let received = 0;
        const isWhole = await x.readPieces(async (piece) => {
          most = Math.max(most, ++open);
          received += piece.length;
          await new Promise(setImmediate);
          open--;
        });
        x.send(200, '', `${isWhole} ${received}`);
      },
    });
    const head = `POST / HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`;
    expect((await bodyOf(port, head + body)).body).toBe('true 300000');
    expect(most).toBe(1);
  });
}

test('a request body beyond the limit is refused, in pieces as well', async (t) => {
  const port = await serve(t, {
    ...CLOSE,
    serve: async (x) => expect(await x.readPieces(() => undefined, 10)).toBe(false),
  });
  const { head } = await bodyOf(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world');
  expect(head).toMatch(/^HTTP\/1.1 413 /);
});

test('a receiver that fails fails the reading', async (t) => {
  const port = await serve(t, {
    ...CLOSE,
    serve: (x) =>
      x
        .readPieces(() => Promise.reject(new Error('no room')))
        .then(
          () => x.end(200),
          (error: Error) => x.send(500, '', error.message),
        ),
  });
  const { body } = await bodyOf(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello');
  expect(body).toBe('no room');
});

/** The body of a response, chunked or not. */
function dechunked(head: string, body: string): string {
  if (!/transfer-encoding: chunked/i.test(head)) return body;
  let text = '';
  for (let rest = body; ;) {
    const [, size = 'none', from = ''] = /^([0-9a-f]+)(?:;[^\r]*)?\r\n([^]*)$/i.exec(rest) ?? [];
    const length = Number.parseInt(size, 16);
    if (Number.isNaN(length)) throw new Error(`no chunk begins with: ${rest.slice(0, 100)}`);
    if (length === 0) return text;
    text += from.slice(0, length);
    rest = from.slice(length + 2);
  }
}

/** A port on a Unix socket, which takes some 200 KB for a client that does not read. */
async function serveUnix(t: TestContext, handler: Parameters<typeof serve>[1]): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'gw-test-'));
  t.onTestFinished(() => rm(dir, { recursive: true }));
  const path = join(dir, 'gw.sock');
  await serve(t, { key: `unix:${path}`, address: { kind: 'unix', path }, ...handler });
  return path;
}

const LAST_PIECE = Buffer.alloc(15_000, 'y');
/** With one of them, the socket has less room than the last piece needs. */
const SIZES = Array.from({ length: 60 }, (_, index) => 100_000 + index * 7_000);

for (const [it, isSized, rules] of [
  ['of known length before the end of its connection', true, CLOSES],
  ['in chunks', false, {}],
  ['in chunks before the end of its connection', false, CLOSES],
] as const) {
  test(`a client that reads late gets a whole response ${it}`, async (t) => {
    const events = new EventEmitter().setMaxListeners(SIZES.length);
    const socketPath = await serveUnix(t, {
      rules,
      serve: (x) => {
        const size = Number(x.uri.slice(1));
        const stream = x.stream(200, 'text/plain', isSized ? size + LAST_PIECE.length : -1);
        stream?.write(Buffer.alloc(size, 'x'));
        setImmediate(() => {
          stream?.write(LAST_PIECE);
          stream?.end();
          events.emit(x.uri);
        });
      },
    });
    const agent = new Agent({ maxSockets: SIZES.length });
    const received = SIZES.map(async (size) => {
      const request = get({ socketPath, agent, path: `/${size}` });
      const responded = once(request, 'response') as Promise<[IncomingMessage]>;
      await once(events, `/${size}`);
      const [response] = await responded;
      await new Promise(setImmediate);
      let length = 0;
      for await (const piece of response) length += (piece as Buffer).length;
      return length;
    });
    expect(await Promise.all(received)).toEqual(SIZES.map((size) => size + LAST_PIECE.length));
    agent.destroy();
  });
}

test('a response that ends while its writers wait for room is not cut later', async (t) => {
  const events = new EventEmitter();
  const port = await serve(t, {
    rules: { sendTimeoutMs: 300 },
    serve: (x) => {
      const stream = x.stream(200, 'text/plain', -1);
      while (stream?.write(PIECE));
      void stream?.drained();
      void stream?.drained();
      stream?.end();
      events.emit('ended');
    },
  });
  const client = connect(port, '127.0.0.1');
  const ended = once(events, 'ended');
  client.write(GET);
  await ended;
  let received = '';
  client.setEncoding('latin1').on('data', (text: string) => (received = (received + text).slice(-10)));
  await expect.poll(() => received).toMatch(/\r\n0\r\n\r\n$/);
  // A timer of the response would end now.
  await setTimeout(600);
  expect(client.closed).toBe(false);
  expect(lines).toEqual([]);
  client.destroy();
});

for (const { it, request, rules = {} } of [
  { it: 'the gateway closes', request: GET, rules: CLOSES },
  { it: 'the client closes', request: LAST_GET },
  {
    it: 'closes behind a body in chunks',
    rules: CLOSES,
    request: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
  },
]) {
  test(`nothing but chunks is in the body of a response whose connection ${it}`, async (t) => {
    const port = await serve(t, {
      rules,
      serve: async (x) => {
        await x.readBody();
        const stream = x.stream(200, 'text/plain', -1);
        for (const piece of ['a', 'b'.repeat(200_000), 'c']) stream?.write(piece);
        stream?.end();
      },
    });
    const { head, body } = await bodyOf(port, request);
    expect(head).toContain('Connection: close');
    expect(dechunked(head, body) === `a${'b'.repeat(200_000)}c`).toBe(true);
    expect(body).toMatch(/\r\n0(;end=": ")?\r\n\r\n$/);
  });
}
