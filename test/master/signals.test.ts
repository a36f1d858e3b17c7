import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { getFrame, openFrames } from '../harness/http2-frames.ts';
import { startPeer } from '../harness/peer.ts';
import { freePort } from '../harness/ports.ts';
import { perTier } from '../harness/tier.ts';
import { Lanes } from './lanes.ts';
import { startSupervised } from './processes.ts';

const CONF = `server {
  location / { return 200 ok; }
  location /events { worker_events_api; worker_events_zone z; worker_events_channel c; }
}`;
const EVENT = '{"type":"t"}';
const HEAD = `POST /events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${EVENT.length}\r\n\r\n`;

for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const) {
  test(`${signal} ends every process with code 0 and removes the pid file`, async (t) => {
    const gw = await startSupervised(t, CONF, { workers: 2 });
    await gw.expect('GET /', { status: 200 });
    await gw.stop(signal);
    gw.assertHealthy();
    expect(gw.read('gw.pid')).toBe('');
    expect(gw.errorLog()).toMatch(/\[notice\] \d+#0: exit$/m);
  });
}

test('SIGQUIT completes requests that are under way and those that kept-alive clients still send', async (t) => {
  const gw = await startSupervised(t, CONF, { workers: 2 });
  const lanes = new Lanes({ port: gw.port, kept: 64, leave: true });
  await lanes.responses(perTier({ short: 500, long: 2_000 }));
  const upload = await gw.connect();
  // A connection that no worker has accepted yet is refused: only a response shows that this one is.
  upload.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await upload.until(/ok$/);
  upload.write(HEAD);
  gw.signal('SIGQUIT');
  await gw.waitForLog(/gracefully shutting down/);
  upload.write(EVENT);
  expect(await upload.until(/\}$/)).toContain('"published"');
  await lanes.ended;
  expect(lanes.seen.failures).toEqual([]);
  await gw.ended();
});

test('SIGTERM does not wait for a request that SIGQUIT would wait for', async (t) => {
  const gw = await startSupervised(t, CONF, { main: 'worker_shutdown_timeout 600s;' });
  const upload = await gw.connect();
  upload.write(HEAD);
  await gw.expect('GET /', { status: 200 });
  gw.signal('SIGQUIT');
  await gw.waitForLog(/gracefully shutting down/);
  gw.signal('SIGTERM');
  await gw.ended();
  expect(await upload.closed).toBe('');
});

test('worker_shutdown_timeout bounds SIGQUIT, and the requests that it cuts are logged', async (t) => {
  const { port: silent, requests } = await startPeer(t, 'silent', () => undefined);
  const port = await freePort();
  const gw = await startSupervised(
    t,
    `${CONF} server { listen 127.0.0.1:${port} http2; location / { proxy_pass http://127.0.0.1:${silent}; } }`,
    { main: 'worker_shutdown_timeout 100ms;' },
  );
  const upload = await gw.connect();
  upload.write(HEAD);
  const stream = await openFrames(port);
  stream.send(getFrame(1, '/stream'));
  await expect.poll(() => requests).toHaveLength(1);
  await gw.expect('GET /', { status: 200 });
  gw.signal('SIGQUIT');
  await gw.ended();
  expect(await upload.closed).toBe('');
  expect(gw.accessLog()).toMatch(/"POST \/events HTTP\/1\.1" 499/);
  expect(gw.accessLog()).toMatch(/"GET \/stream HTTP\/2\.0" 499/);
});

test('SIGINT twice, as a terminal and the supervisor send it, ends once', async (t) => {
  const gw = await startSupervised(t, CONF, { workers: 2 });
  gw.signal('SIGINT');
  gw.signal('SIGINT');
  await gw.ended();
  expect(gw.errorLog().match(/#0: exit$/gm)).toHaveLength(1);
});

test('SIGQUIT ends streams that would go on for ever', async (t) => {
  const gw = await startSupervised(
    t,
    'server { location / { worker_events_api; worker_events_stream on; worker_events_zone z; worker_events_channel c; } }',
    { main: 'worker_shutdown_timeout 600s;' },
  );
  const stream = await gw.connect();
  stream.write('GET / HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n');
  await stream.until(/200 OK[^]*\r\n\r\n/);
  gw.signal('SIGQUIT');
  await gw.ended();
  // A stream that was cut at the end of the time limit would lack its last chunk.
  expect(await stream.closed).toMatch(/\r\n0\r\n\r\n$/);
});

test('SIGUSR1 reopens both renamed logs in every thread', async (t) => {
  const gw = await startSupervised(t, CONF, { workers: 2 });
  await gw.expect('GET /first', { status: 200 });
  await gw.waitForAccessLog(/GET \/first/);
  for (const name of ['access.log', 'error.log']) renameSync(join(gw.dir, name), join(gw.dir, `${name}.1`));
  gw.signal('SIGUSR1');
  for (const id of [1, 2]) await gw.waitForLog(new RegExp(`worker ${id} reopened its logs`));
  for (let n = 0; n < 50; n++) await gw.expect('GET /second', { status: 200 });
  await expect.poll(() => gw.accessLog().match(/GET \/second/g)).toHaveLength(50);
  expect(gw.read('access.log.1')).not.toContain('/second');
  await gw.reload(CONF);
  expect(gw.errorLog()).toContain('reload done');
  expect(gw.read('error.log.1')).not.toContain('reload done');
});
