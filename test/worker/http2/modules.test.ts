import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { callOn, openHttp2 } from '../../harness/http2-client.ts';
import { readScripts, startScriptedUpstream } from '../../harness/scripted-upstream.ts';
import { redis } from '../../harness/redis.ts';

test('worker events are published and streamed over HTTP/2', async (t) => {
  const gw = await startGateway(
    t,
    `http2 on; server {
      location /events { worker_events_api; worker_events_zone z; worker_events_channel c; }
      location /stream { worker_events_api; worker_events_stream on; worker_events_zone z; worker_events_channel c; }
    }`,
  );
  const session = openHttp2(gw.port);
  const stream = session.request({ ':path': '/stream', accept: 'text/event-stream' });
  let text = '';
  stream.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  stream.on('error', () => undefined);
  await new Promise((resolve) => stream.once('response', resolve));
  const published = await callOn(session, '/events', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"type":"greeting","payload":"hello"}',
  });
  expect(published.status).toBe(200);
  await expect.poll(() => text).toContain('greeting');
  // A client that has enough resets its stream, and the connection goes on.
  stream.close(8);
  expect((await callOn(session, '/events')).status).toBe(200);
  session.destroy();
});

test('Redis commands respond over HTTP/2, many at once', async (t) => {
  const { port } = await redis();
  const gw = await startGateway(
    t,
    `http2 on; server { location / { kv_pass 127.0.0.1:${port}; kv_command incr; kv_key over-http2; } }`,
  );
  const session = openHttp2(gw.port);
  const responses = await Promise.all(
    Array.from({ length: 50 }, () => callOn(session, '/', { method: 'POST' })),
  );
  expect(new Set(responses.map(({ body }) => body)).size).toBe(50);
  session.destroy();
});

test('each stream counts for limit_conn, as in nginx', async (t) => {
  const gw = await startGateway(
    t,
    (dir) =>
      `http2 on; limit_conn_zone $binary_remote_addr zone=one:1m; server { root ${dir}/html; limit_conn one 2; limit_rate 200; }`,
    { files: { 'html/a': 'x'.repeat(300) } },
  );
  const session = openHttp2(gw.port);
  const responses = await Promise.all([1, 2, 3].map(() => callOn(session, '/a')));
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(2);
  expect(responses.filter(({ status }) => status === 503)).toHaveLength(1);
  session.destroy();
});

test('the operator surface counts streams as requests', async (t) => {
  const gw = await startGateway(
    t,
    'http2 on; server { location /status { stub_status; } location / { return 200 x; } }',
  );
  const session = openHttp2(gw.port);
  for (let count = 0; count < 3; count++) await callOn(session, '/');
  const { body } = await callOn(session, '/status');
  expect(body).toMatch(
    /^Active connections: 1 \nserver accepts handled requests\n 1 1 4 \nReading: 0 Writing: 1 Waiting: 0/,
  );
  session.destroy();
});

const SCRIPTS = readScripts(`
head-alone: "HTTP/1.1 200 OK\\r\\nContent-Length: 100\\r\\n\\r\\n" <close>
half-body: "HTTP/1.1 200 OK\\r\\nContent-Length: 100\\r\\n\\r\\nhalf" <close>
head-alone-chunked: "HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n" <pause> <close>
half-chunks: "HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n4\\r\\nhalf\\r\\n" <pause> <close>
asks-upgrade: "HTTP/1.1 426 Upgrade Required\\r\\nUpgrade: TLS/1.0\\r\\nContent-Length: 2\\r\\n\\r\\nhi"`);

const BROKEN = [
  ['/~head-alone', '100', ''],
  ['/~half-body', '100', 'half'],
  ['/~head-alone-chunked', undefined, ''],
  ['/~half-chunks', undefined, 'half'],
] as const;

test('a response that breaks off is what there was of it, and a reset', async (t) => {
  const upstream = await startScriptedUpstream(t, SCRIPTS);
  const gw = await startGateway(
    t,
    `http2 on; server { location / { proxy_pass http://127.0.0.1:${upstream.port}; } }`,
  );
  const session = openHttp2(gw.port);
  for (const [path, length, body] of BROKEN) {
    const stream = session.request({ ':path': path });
    const seen = { status: 0, length: undefined as string | undefined, body: '' };
    stream.on('error', () => undefined);
    stream.once('response', (fields) => {
      seen.status = Number(fields[':status']);
      seen.length = fields['content-length'];
    });
    stream.setEncoding('utf8').on('data', (piece: string) => (seen.body += piece));
    await new Promise((resolve) => stream.once('close', resolve));
    expect([path, seen, stream.rstCode]).toEqual([path, { status: 200, length, body }, 2]);
  }
  session.destroy();
});

test('the Upgrade of a response is for clients of HTTP/1 alone', async (t) => {
  const upstream = await startScriptedUpstream(t, SCRIPTS);
  const gw = await startGateway(
    t,
    `http2 on; server { location / { proxy_pass http://127.0.0.1:${upstream.port}; } }`,
  );
  const session = openHttp2(gw.port);
  const { status, headers } = await callOn(session, '/~asks-upgrade');
  expect([status, headers.get('content-length'), headers.get('upgrade')]).toEqual([426, '2', null]);
  session.destroy();
});
