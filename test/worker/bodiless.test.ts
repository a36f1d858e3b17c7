import { describe, expect, onTestFinished, test } from 'vitest';
import type { Exchange } from '../../src/http/index.ts';
import { CONNECTION } from '../harness/rules.ts';
import { connectRaw } from '../harness/raw.ts';
import { GET, responseTo, serve } from './serve.ts';

const CLOSING = GET.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
const UPLOAD = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n';
const CLOSES = { connection: { ...CONNECTION, keepalive: false } };

const ways: Record<string, (x: Exchange) => void | Promise<void>> = {
  'at once': (x) => x.send(204, '', ''),
  later: (x) => Promise.resolve().then(() => x.send(204, '', '')),
  'with a body that it must not have': (x) => x.send(204, 'text/plain', 'x'.repeat(100_000)),
  'in pieces': (x) => {
    const stream = x.stream(204, '');
    stream?.write('never');
    stream?.end();
  },
  'after its body': async (x) => {
    if (await x.readBody()) x.send(204, '', '');
  },
  'as 304': (x) => x.send(304, '', ''),
};

describe.each(Object.entries(ways))('a response without a body, sent %s,', (_, serving) => {
  const expectBare = (received: string): void => {
    expect(received).toMatch(/^HTTP\/1\.1 (?:204 No Content|304 Not Modified)\r\n/);
    expect(received).not.toMatch(/content-length|transfer-encoding/i);
    expect(received.match(/^Date: .*GMT/gm)).toHaveLength(1);
    expect(received.indexOf('\r\n\r\n')).toBe(received.length - 4);
  };

  test.each([
    ['by a client that closes', CLOSING, {}],
    ['where the gateway closes', GET, CLOSES],
    ['for a chunked upload', UPLOAD.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'), {}],
    ['for an upload without a length', CLOSING.replace('GET', 'DELETE'), {}],
  ])('has no length and closes the connection %s', async (...[, bytes, rules]) => {
    const usage = { inFlight: 0 };
    const port = await serve({ onTestFinished }, { serve: serving, rules, usage });
    const received = await responseTo(port, bytes);
    expectBare(received);
    expect(usage.inFlight).toBe(0);
  });

  test('has no length and keeps the connection', async (t) => {
    const connection = await connectRaw(await serve(t, { serve: serving }));
    connection.write(GET);
    const first = await connection.until(/\r\n\r\n/);
    expectBare(first);
    connection.write(GET);
    expectBare((await connection.until(/\r\n\r\n[^]*\r\n\r\n$/)).slice(first.length));
    connection.destroy();
  });
});
