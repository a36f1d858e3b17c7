import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ON_NODE_ENGINE } from '../../harness/engine.ts';
import { startGateway, type Gateway } from '../../harness/gateway.ts';
import { splitResponses } from './responses.ts';
import { hostileCases } from './cases.ts';

const BATCHES = 40;
const BATCH = 50;
/** The statuses that a damaged request may get; a 500 or 502 would be a fault of ours. */
const ALLOWED = [200, 204, 302, 400, 404, 405, 408, 413, 414, 431, 501, 505];

let gw: Gateway;
beforeAll(async () => {
  gw = await startGateway(
    { onTestFinished: afterAll },
    'server { location / { return 200 "uri=$uri args=$args host=$host"; } location ~ ^/to/(.*)$ { return 302 /$1; } }',
  );
});

const anyByte = fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte));
const piece = fc.oneof(
  anyByte,
  fc.constantFrom(
    '\r\n',
    '\n',
    '\r',
    '\0',
    ' ',
    '\t',
    ':',
    '%',
    '%00',
    '..',
    '//',
    '\r\n\r\n',
    'Content-Length: 3\r\n',
  ),
  fc.constantFrom(
    'Transfer-Encoding: chunked\r\n',
    '0\r\n\r\n',
    'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n',
    '\x7f',
    '\xff',
  ),
);

interface Change {
  readonly where: number;
  readonly remove: number;
  readonly insert: string;
}

const change: fc.Arbitrary<Change> = fc.record({
  where: fc.double({ min: 0, max: 1, noNaN: true }),
  remove: fc.integer({ min: 0, max: 3 }),
  insert: fc.oneof(fc.constant(''), piece),
});

// The response to HEAD cannot be told from others once the bytes are damaged.
const seeds = hostileCases
  .map(({ send }) => send)
  .filter((send) => !send.startsWith('HEAD') && send.length < 2000);

/** Without its version a request line is HTTP/0.9, which uWebSockets.js does not serve. */
const HTTP_09 = ON_NODE_ENGINE ? /^(?:uri=|<html>)/ : undefined;

const mutation = fc
  .record({ seed: fc.constantFrom(...seeds), changes: fc.array(change, { minLength: 1, maxLength: 4 }) })
  .map(({ seed, changes }) =>
    changes.reduce((bytes, { where, remove, insert }) => {
      const at = Math.floor(where * bytes.length);
      return bytes.slice(0, at) + insert + bytes.slice(at + remove);
    }, seed),
  );

async function responsesTo(bytes: string): Promise<string> {
  const connection = await gw.connect();
  connection.write(bytes);
  connection.end();
  return connection.closed;
}

test('damaged requests get well-formed responses with a status for their fault, and do no harm', async () => {
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(fc.array(mutation, { minLength: BATCH, maxLength: BATCH }), async (batch) => {
      const received = await Promise.all(batch.map(responsesTo));
      for (const [index, text] of received.entries()) {
        for (const { status, headers } of splitResponses(text, [], HTTP_09)) {
          seen.add(status);
          expect(ALLOWED, JSON.stringify(batch[index])).toContain(status);
          expect([...headers.keys()]).not.toContain('x-evil');
        }
      }
      await gw.expect('GET /probe', { status: 200, body: 'uri=/probe args= host=127.0.0.1' });
    }),
    { numRuns: BATCHES, endOnFailure: true },
  );
  expect([...seen]).toEqual(expect.arrayContaining([200, 400, ON_NODE_ENGINE ? 501 : 505]));
});
