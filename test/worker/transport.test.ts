import { connect } from 'node:net';
import { expect, test } from 'vitest';
import type { Exchange } from '../../src/http/index.ts';
import { ON_NODE_ENGINE } from '../harness/engine.ts';
import { connectRaw } from '../harness/raw.ts';
import { CONNECTION } from '../harness/rules.ts';
import { GET, HEAD, LAST_GET, lines, responseTo, serve } from './serve.ts';

const large = 'x'.repeat(3_000_000);

const broken = (): never => {
  throw new Error('broken');
};

test('no response names the engine', async (t) => {
  const port = await serve(t, {});
  for (const request of [LAST_GET, LAST_GET.replace('GET', 'HEAD'), 'G@T / HTTP/1.1\r\nHost: a\r\n\r\n']) {
    expect(await responseTo(port, request)).toMatch(/^HTTP\/1\.1 (?:200|400) (?![^]*uwebsockets)/i);
  }
});

test('a failure before the request is admitted closes the connection and is logged', async (t) => {
  const port = await serve(t, {
    needs: {
      headers: Object.assign(new Set(['host']), { has: broken }),
      allHeaders: false,
      peer: false,
    },
  });
  expect(await responseTo(port, GET)).toBe('');
  expect(await responseTo(port, GET)).toBe('');
  expect(lines).toEqual(Array(2).fill('a request could not be processed: Error: broken'));
});

test('a handler that throws in spite of its contract closes the connection and is logged', async (t) => {
  const port = await serve(t, { serve: broken });
  expect(await responseTo(port, GET)).toBe('');
  expect(lines).toEqual(['a request could not be processed: Error: broken']);
});

test('a header filter that fails always ends its request', async (t) => {
  const port = await serve(t, { rules: { filters: [broken] } });
  for (const line of ['GET', 'G@T', 'DELETE']) {
    const head = `${line} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    expect(await responseTo(port, head), line).toMatch(/^HTTP\/1\.1 500 /);
  }
  expect(lines.filter((line) => !line.startsWith('client sent'))).toHaveLength(3);
});

test('a log step or a clean-up that fails harms no other request', async (t) => {
  let leave: (() => void) | undefined;
  const left = new Promise<void>((resolve) => (leave = resolve));
  const usage = { inFlight: 0 };
  const port = await serve(t, {
    usage,
    rules: { logs: [broken] },
    serve: (x: Exchange) => {
      if (x.uri === '/') return x.send(200, '', 'fine');
      x.onAbort(broken);
      return x.onAbort(() => leave?.());
    },
  });
  const connection = await connectRaw(port);
  connection.write(GET);
  await connection.until(/fine$/);
  connection.write(GET.replace('/', '/wait'));
  await expect.poll(() => usage.inFlight).toBe(1);
  connection.destroy();
  await left;
  expect(lines).toContain('cleaning up after a client that left failed: Error: broken');
});

/** Fails when the first request ends. */
const unendable = (): { inFlight: number } => {
  let [waiting, failures] = [0, 0];
  return {
    get inFlight() {
      return waiting;
    },
    set inFlight(count) {
      const isEnd = count < waiting;
      waiting = count;
      if (isEnd && failures++ === 0) broken();
    },
  };
};

async function serveWaiting(x: Exchange): Promise<void> {
  if (x.uri === '/') return x.send(200, '', 'fine');
  await Promise.resolve();
  if (x.uri === '/large') return x.send(200, '', `${large}end`);
  if (x.uri === '/body') return x.send(200, '', String((await x.readBody())?.length));
  if (x.uri !== '/stream') return undefined;
  const stream = x.stream(200, '');
  if (stream?.write(large) === false) await stream.drained();
  stream?.write('end');
  return stream?.end();
}

for (const [it, sends, leavesAt] of [
  ['leaves while its request is served', GET.replace('/', '/wait'), ''],
  ['leaves in the middle of its body', 'POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc', ''],
  [
    'sends a body in pieces',
    'POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    '3$',
  ],
  ['takes all of a large response', GET.replace('/', '/large'), 'end$'],
  ['leaves in the middle of a large response', GET.replace('/', '/large'), 'xxx'],
  ['takes all of a stream', GET.replace('/', '/stream'), 'end\r\n'],
  // uWebSockets.js takes ten seconds for this one.
  ...(ON_NODE_ENGINE ? [['never sends all of its head', 'GET /', 'never'] as const] : []),
] as const) {
  test(`a failure at the end of a client that ${it} harms no other client`, async (t) => {
    const usage = unendable();
    const port = await serve(t, {
      usage,
      head: { ...HEAD, timeoutMs: 100 },
      rules: { writeLog: broken },
      // The handler itself deals with its own failures.
      serve: (x) => void serveWaiting(x).catch(() => undefined),
    });
    const connection = await connectRaw(port);
    connection.write(sends);
    if (leavesAt === '' && !sends.startsWith('POST')) await expect.poll(() => usage.inFlight).toBe(1);
    if (leavesAt === 'never') await connection.closed;
    else if (leavesAt !== '') await connection.until(new RegExp(leavesAt)).catch(() => undefined);
    connection.destroy();
    expect(await responseTo(port, LAST_GET)).toMatch(/fine$/);
  });
}

test('a handler may abort at once and later', async (t) => {
  const port = await serve(t, {
    serve: (x) => (x.uri === '/' ? x.abort() : Promise.resolve().then(() => x.abort())),
  });
  expect(await responseTo(port, GET)).toBe('');
  expect(await responseTo(port, GET.replace('/', '/later'))).toBe('');
  expect(lines).toEqual([]);
});

const LAST = { rules: { connection: { ...CONNECTION, keepalive: false } } };

for (const [name, method, body, length, sent] of [
  ['a large response', 'GET', large, large.length, large.length],
  ['a response just above one piece', 'GET', large.slice(0, 65_537), 65_537, 65_537],
  ['a small response', 'GET', 'small', 5, 5],
  ['the head of a large response', 'HEAD', large, large.length, 0],
  ['the head of an empty response', 'HEAD', '', 0, 0],
] as const) {
  test(`${name} comes whole before the connection closes`, async (t) => {
    const port = await serve(t, { ...LAST, serve: (x) => x.send(200, '', body) });
    const received = await responseTo(port, GET.replace('GET', method));
    const [head = '', rest] = received.split('\r\n\r\n', 2);
    expect(head.match(/^content-length: .*/gim)).toEqual([`Content-Length: ${length}`]);
    expect(head.match(/^connection: .*/gim)).toEqual(['Connection: close']);
    expect(rest).toHaveLength(sent);
  });
}

test('a client that takes nothing of a large response is cut after send_timeout', async (t) => {
  const usage = { inFlight: 0 };
  const port = await serve(t, {
    usage,
    rules: { sendTimeoutMs: 50 },
    serve: (x) => x.send(200, '', 'x'.repeat(32 * 1024 * 1024)),
  });
  const socket = connect(port, '127.0.0.1').pause();
  t.onTestFinished(() => void socket.destroy());
  socket.write(GET);
  await expect.poll(() => usage.inFlight).toBe(1);
  await expect.poll(() => usage.inFlight).toBe(0);
});

test('an upload that is not read is held back, and arrives whole once it is read', async (t) => {
  let go: (() => void) | undefined;
  const mayRead = new Promise<void>((resolve) => (go = resolve));
  const port = await serve(t, {
    serve: async (x) => {
      await mayRead;
      const body = await x.readBody();
      x.send(200, '', `read ${body?.byteLength}`);
    },
  });
  const connection = await connectRaw(port);
  const length = 20_000_000;
  connection.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`);
  connection.write('x'.repeat(length));
  setTimeout(() => go?.(), 50);
  expect(await connection.until(/read \d+$/)).toContain(`read ${length}`);
  connection.destroy();
});

test('an upload that is held back and not taken is read to its end behind its response', async (t) => {
  const port = await serve(t, {
    serve: async (x) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      x.send(200, '', x.request.method);
    },
  });
  const connection = await connectRaw(port);
  connection.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n${'x'.repeat(2_000_000)}`);
  if (ON_NODE_ENGINE) {
    // nginx keeps the connection, too; uWebSockets.js cannot tell when the next request may come.
    await connection.until(/\r\n\r\nPOST$/);
    connection.write(LAST_GET);
    return expect(await connection.closed).toMatch(/\r\n\r\nPOSTHTTP\/1\.1 200 [^]*\r\n\r\nGET$/);
  }
  expect(await connection.closed).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n[^]*\r\n\r\nPOST$/);
});
