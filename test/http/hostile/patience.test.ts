import { afterAll, beforeAll, expect, test } from 'vitest';
import { ON_NODE_ENGINE } from '../../harness/engine.ts';
import { startGateway, type Gateway } from '../../harness/gateway.ts';
import { splitResponses } from './responses.ts';

const REPEATS = 40;
const CONF = `
  large_client_header_buffers 4 16k;
  server {
    location / { return 200 probe; }
    location /large { return 200 "${'$http_x_part'.repeat(REPEATS)}"; }
    location /events {
      worker_events_api;
      worker_events_zone bus;
      worker_events_channel c;
      client_max_body_size 1k;
      location /events/slow {
        worker_events_api;
        worker_events_zone bus;
        worker_events_channel c;
        client_body_timeout 50ms;
      }
    }
  }`;

const HEADERS = 'Host: a.example\r\nContent-Type: application/json\r\n';
const PROBE = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n';
const EVENT = '{"type":"t","payload":"p"}';
const PART = 'x'.repeat(8000);
const LARGE = `GET /large HTTP/1.1\r\nHost: a.example\r\nX-Part: ${PART}\r\n\r\n`;

let gw: Gateway;
beforeAll(async () => {
  gw = await startGateway({ onTestFinished: afterAll }, CONF);
});

const statuses = (received: string, methods?: readonly string[]) =>
  splitResponses(received, methods).map(({ status }) => status);

test.each([
  { path: '/events', end: /413 Request Entity Too Large[^]*"the body is too large"}$/ },
  { path: '/', end: /413 Request Entity Too Large[^]*<\/html>\r\n$/ },
])(
  'guard 9: who sends too much to $path reads the 413, and the connection stays in step',
  async ({ path, end }) => {
    const connection = await gw.connect();
    const length = 2_000_000;
    connection.write(`POST ${path} HTTP/1.1\r\n${HEADERS}Content-Length: ${length}\r\n\r\n`);
    connection.write('x'.repeat(length / 2));
    await connection.until(end);
    connection.write('x'.repeat(length / 2));
    connection.write(PROBE);
    // nginx closes after its own page; so does the engine that can wait until the client has read it.
    if (ON_NODE_ENGINE && path === '/') return expect(statuses(await connection.closed)).toEqual([413]);
    await connection.until(/probe$/);
    connection.destroy();
    return expect(statuses(connection.received())).toEqual([413, 200]);
  },
);

test('guard 9: a chunked body beyond the limit gets 413, then the connection closes', async () => {
  const connection = await gw.connect();
  const chunk = `7d0\r\n${'x'.repeat(2000)}\r\n`;
  connection.write(`POST /events HTTP/1.1\r\n${HEADERS}Transfer-Encoding: chunked\r\n\r\n${chunk}`);
  expect(statuses(await connection.closed)).toEqual([413]);
});

test('a body that comes byte by byte is read completely', async () => {
  const connection = await gw.connect();
  connection.write(`POST /events HTTP/1.1\r\n${HEADERS}Content-Length: ${EVENT.length}\r\n\r\n`);
  for (const byte of EVENT) {
    connection.write(byte);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await connection.until(/"published"[^]*\}$/);
  connection.write(PROBE);
  await connection.until(/probe$/);
  connection.destroy();
  expect(statuses(connection.received())).toEqual([200, 200]);
});

test.each([
  ['in the middle of a head', 'GET / HTTP/1.1\r\nHost: a.ex'],
  ['in the middle of a body', `POST /events HTTP/1.1\r\n${HEADERS}Content-Length: 500\r\n\r\n{`],
  [
    'in the middle of a chunk',
    `POST /events HTTP/1.1\r\n${HEADERS}Transfer-Encoding: chunked\r\n\r\nff\r\n{`,
  ],
  ['before a refusal', 'G@T / HTTP/1.1\r\nHost: a.example\r\n\r\n'],
  ['in the middle of a large response', LARGE],
])('guard 12: clients that leave %s do no harm', async (_, bytes) => {
  const connections = await Promise.all(Array.from({ length: 50 }, () => gw.connect()));
  for (const connection of connections) connection.write(bytes);
  // The same worker serves this request after all the others: it has handled every one.
  await gw.expect('GET /', { status: 200 });
  for (const connection of connections) connection.destroy();
  await gw.expect('GET /', { status: 200, body: 'probe' });
});

test('guard 13: a large response arrives whole, and the connection stays in step', async () => {
  const connection = await gw.connect();
  connection.write(LARGE);
  await connection.until(/x$/);
  const whole = PART.length * REPEATS;
  while (connection.received().length < whole)
    await connection.until(new RegExp(`^[^]{${connection.received().length + 1}}`));
  connection.write(LARGE.replace('GET', 'HEAD') + PROBE);
  await connection.until(/probe$/);
  connection.destroy();
  const [large, headOnly, probe] = splitResponses(connection.received(), ['GET', 'HEAD', 'GET']);
  expect(large?.body).toBe(PART.repeat(REPEATS));
  expect(headOnly?.headers.get('content-length')).toBe(String(whole));
  expect(probe?.body).toBe('probe');
});

test('guard 14: a body that stops coming gets 408, then the connection closes', async () => {
  const connection = await gw.connect();
  connection.write(`POST /events/slow HTTP/1.1\r\n${HEADERS}Content-Length: 500\r\n\r\n{`);
  expect(statuses(await connection.closed)).toEqual([408]);
});
