import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';

/* Longer than either engine lets an idle connection stay: 2 seconds as configured, or 10 and a tick of uWebSockets.js. */
const PATIENCE_MS = 25_000;

const head = (method: string, path: string, more = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: a.example\r\n${more}\r\n`;
const post = (path: string, more = ''): string =>
  `${head('POST', path, `${more}Content-Length: 5\r\n`)}hello`;

/** What the client sends, in pieces; the last response comes before the last piece, or with it. */
const cases: readonly (readonly [it: string, pieces: readonly string[], statuses: readonly number[]])[] = [
  ['a request without a body', [head('GET', '/none')], [404]],
  ['a body that nobody reads', [post('/none')], [404]],
  ['a body in two pieces that nobody reads', [post('/none').slice(0, -2), 'lo'], [404]],
  ['a body that was waited for', [post('/none', 'Expect: 100-continue\r\n')], [100, 404]],
  ['a body that is passed on', [post('/passed')], [200]],
  ['a body that nobody reads behind one that is passed on', [post('/passed'), post('/none')], [200, 404]],
  ['a request behind a body that nobody reads', [post('/none'), head('GET', '/none')], [404, 404]],
];

const file = wholeFile();
let gw: Gateway;
beforeAll(async () => {
  gw = await startGateway(
    file,
    (_dir, port) => `
      keepalive_timeout 2s;
      server { location /passed { proxy_pass http://127.0.0.1:${port}/up; } location /up { return 200 up; } }`,
  );
});

test.concurrent.each(cases)(
  'an idle connection is closed behind %s',
  async (_it, pieces, statuses) => {
    const connection = await gw.connect();
    for (const piece of pieces) {
      connection.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const received = await connection.closed;
    expect([...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))).toEqual(
      statuses,
    );
  },
  PATIENCE_MS,
);
