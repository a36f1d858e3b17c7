import { connect } from 'node:net';
import { expect, test } from 'vitest';
import type { PortHandler } from '../../src/compile/index.ts';
import type { AnswerRules, Exchange } from '../../src/http/index.ts';
import { UwsTransport } from '../../src/worker/transport/index.ts';
import { Connections } from '../../src/zone/index.ts';
import { aloneCounters } from '../harness/counters.ts';
import { connectRaw } from '../harness/raw.ts';
import { freePort } from '../harness/ports.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const lines: string[] = [];

async function serve(
  t: { onTestFinished(stop: () => void): void },
  { rules = {}, ...handler }: Partial<Omit<PortHandler, 'rules'>> & { rules?: Partial<AnswerRules> },
): Promise<number> {
  lines.length = 0;
  const port = await freePort();
  const connections = new Connections(aloneCounters());
  const log = { write: (_: unknown, message: string) => void lines.push(message) };
  const open = await new UwsTransport(log, connections).open({
    key: `127.0.0.1:${port}`,
    address: { kind: 'inet', host: '127.0.0.1', port },
    facts: { scheme: 'http', port, address: '127.0.0.1' },
    headerLineBytes: 4096,
    headBytes: 4096,
    mergeSlashes: true,
    needs: { headers: new Set(), allHeaders: false, peer: false },
    usage: { inFlight: 0 },
    serve: (x) => x.send(200, '', 'fine'),
    rules: {
      defaultType: '',
      maxBodyBytes: 0,
      bodyTimeoutMs: 1_000,
      sendTimeoutMs: 1_000,
      keepalive: true,
      serverToken: 'gw',
      absoluteRedirect: false,
      filters: [],
      logs: [],
      warn: (message) => void lines.push(message),
      ...rules,
    },
    ...handler,
  });
  t.onTestFinished(() => {
    open.stopAccepting();
    open.close();
  });
  return port;
}

async function answerTo(port: number, bytes: string): Promise<string> {
  const connection = await connectRaw(port);
  connection.write(bytes);
  return connection.closed;
}

const broken = (): never => {
  throw new Error('broken');
};

test('a failure before the request is admitted closes the connection and is logged', async (t) => {
  const port = await serve(t, {
    needs: { headers: { size: 1, has: broken } as unknown as Set<string>, allHeaders: false, peer: false },
  });
  expect(await answerTo(port, GET)).toBe('');
  expect(await answerTo(port, GET)).toBe('');
  expect(lines).toEqual(Array(2).fill('a request could not be taken: Error: broken'));
});

test('a handler that throws in spite of its contract closes the connection and is logged', async (t) => {
  const port = await serve(t, { serve: broken });
  expect(await answerTo(port, GET)).toBe('');
  expect(lines).toEqual(['a request could not be taken: Error: broken']);
});

test('a header filter that fails never leaves a request without an end', async (t) => {
  const port = await serve(t, { rules: { filters: [broken] } });
  expect(await answerTo(port, GET)).toBe('');
  expect(await answerTo(port, 'G@T / HTTP/1.1\r\nHost: a\r\n\r\n')).toBe('');
  expect(await answerTo(port, 'DELETE / HTTP/1.1\r\nHost: a\r\n\r\n')).toBe('');
  expect(lines).toHaveLength(3);
});

test('a log step or a clean-up that fails harms nobody', async (t) => {
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

test('a handler may abort at once and later', async (t) => {
  const port = await serve(t, {
    serve: (x) => (x.uri === '/' ? x.abort() : Promise.resolve().then(() => x.abort())),
  });
  expect(await answerTo(port, GET)).toBe('');
  expect(await answerTo(port, GET.replace('/', '/later'))).toBe('');
  expect(lines).toEqual([]);
});

const large = 'x'.repeat(3_000_000);
const LAST = { rules: { keepalive: false } };

for (const [name, method, body, length, sent] of [
  ['a large answer', 'GET', large, large.length, large.length],
  ['an answer just above one piece', 'GET', large.slice(0, 65_537), 65_537, 65_537],
  ['a small answer', 'GET', 'small', 5, 5],
  ['the head of a large answer', 'HEAD', large, large.length, 0],
  ['the head of an empty answer', 'HEAD', '', 0, 0],
] as const) {
  test(`${name} comes whole before the connection closes`, async (t) => {
    const port = await serve(t, { ...LAST, serve: (x) => x.send(200, '', body) });
    const received = await answerTo(port, GET.replace('GET', method));
    const [head = '', rest] = received.split('\r\n\r\n', 2);
    expect(head.match(/^content-length: .*/gim)).toEqual([`Content-Length: ${length}`]);
    expect(head.match(/^connection: .*/gim)).toEqual(['Connection: close']);
    expect(rest).toHaveLength(sent);
  });
}

test('a client that takes nothing of a large answer is cut after send_timeout', async (t) => {
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

test('an upload that nobody reads is held back, and taken whole when somebody does', async (t) => {
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

test('an upload that is held back and then refused is swallowed, and the connection stays in step', async (t) => {
  const port = await serve(t, {
    serve: async (x) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      x.send(200, '', x.requestMethod);
    },
  });
  const connection = await connectRaw(port);
  connection.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n${'x'.repeat(2_000_000)}`);
  await connection.until(/POST$/);
  connection.write(GET);
  expect(await connection.until(/GET$/)).toMatch(/POSTHTTP\/1\.1 200 OK/);
  connection.destroy();
});
