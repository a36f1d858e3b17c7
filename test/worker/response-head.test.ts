import { expect, onTestFinished, test } from 'vitest';
import type { Exchange } from '../../src/http/index.ts';
import { connectRaw } from '../harness/raw.ts';
import { CONNECTION } from '../harness/rules.ts';
import { GET, responseTo, serve } from './serve.ts';

const HEAD = GET.replace('GET', 'HEAD');
const CLOSING = HEAD.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

const inPieces = (x: Exchange): void => void x.stream(206, 'text/plain');
const later = (x: Exchange): Promise<void> => Promise.resolve(x).then(inPieces);

for (const [when, serving] of [
  ['at once', inPieces],
  ['later', later],
] as const) {
  test(`the head of a response in pieces, given ${when}, names no length and keeps the connection`, async (t) => {
    const connection = await connectRaw(await serve(t, { serve: serving }));
    connection.write(HEAD);
    const head = await connection.until(/\r\n\r\n/);
    expect(head).toMatch(/^HTTP\/1.1 206 Partial Content\r\n/);
    expect(head).not.toMatch(/transfer-encoding/i);
    expect(head).not.toMatch(/content-length/i);
    connection.write(HEAD);
    expect((await connection.until(/\r\n\r\n[^]*\r\n\r\n$/)).split('HTTP/1.1 206')).toHaveLength(3);
    connection.destroy();
  });

  test(`the head of a response in pieces, given ${when}, ends a connection that the client closes`, async (t) => {
    const usage = { inFlight: 0 };
    const received = await responseTo(await serve(t, { serve: serving, usage }), CLOSING);
    expect(received).toMatch(/\r\n\r\n$/);
    expect(usage.inFlight).toBe(0);
  });
}

test('the head of a response in pieces ends its connection where the gateway does not keep connections', async (t) => {
  const port = await serve(t, {
    serve: inPieces,
    rules: { connection: { ...CONNECTION, keepalive: false } },
  });
  const head = await responseTo(port, HEAD);
  expect(head.match(/^connection: .*/gim)).toEqual(['Connection: close']);
  expect(head).toMatch(/\r\n\r\n$/);
});

const SAID: Readonly<Record<string, (x: Exchange) => void>> = {
  'a text': (x) => x.send(200, '', 'text'),
  'an empty text': (x) => x.send(200, '', ''),
  'no body': (x) => x.end(204),
  'a large text': (x) => x.send(200, '', 'x'.repeat(100_000)),
  'a body in pieces': (x) => {
    const stream = x.stream(200, 'text/plain');
    stream?.write('piece');
    stream?.end();
  },
};

for (const [what, said] of Object.entries(SAID)) {
  for (const keepalive of [true, false]) {
    test(`${what} says that the connection closes, if a client says so (keep-alive ${keepalive})`, async (t) => {
      const rules = { connection: { ...CONNECTION, keepalive, keepaliveHeader: 'timeout=30' } };
      const port = await serve(t, { serve: said, rules });
      for (const request of [GET, HEAD]) {
        for (const close of ['close', 'Close', 'te, close', 'te\r\nConnection: close']) {
          const sent = request.replace('\r\n\r\n', `\r\nConnection: ${close}\r\n\r\n`);
          const received = await responseTo(port, sent);
          expect(received.match(/^(?:connection|keep-alive): .*/gim)).toEqual(['Connection: close']);
        }
      }
    });
  }
}

test.each([
  ['You shall not pass', 'You shall not pass'],
  ['Où ça ?', 'Où ça ?'],
  ['OK\r\nX-Injected: yes', 'Payment Required'],
  ['x'.repeat(1_001), 'Payment Required'],
])('the reason phrase %j is sent as %j', async (phrase, sent) => {
  const port = await serve(
    { onTestFinished },
    {
      rules: { connection: { ...CONNECTION, keepalive: false } },
      serve(x) {
        x.response.setReason(phrase);
        x.send(402, '', 'pay');
      },
    },
  );
  const received = Buffer.from(await responseTo(port, GET), 'latin1').toString();
  expect(received.slice(0, received.indexOf('\r\n'))).toBe(`HTTP/1.1 402 ${sent}`);
  expect(received).not.toContain('X-Injected');
});
