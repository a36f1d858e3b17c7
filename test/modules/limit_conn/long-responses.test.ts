import { once } from 'node:events';
import { connect } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';

const load = oneGateway();

const ZONE = 'limit_conn_zone all zone=addr:1m;';

test('a client that does not read a large file counts until it leaves', async (t) => {
  const gw = await load(t, `${ZONE} server { root .; location /file { limit_conn addr 1; } }`, {
    file: 'x'.repeat(20_000_000),
  });
  const slow = connect(gw.port, '127.0.0.1');
  await once(slow, 'connect');
  slow.pause().write('GET /file HTTP/1.1\r\nHost: a\r\n\r\n');
  await expect.poll(async () => (await gw.fetch('/file')).status).toBe(503);
  slow.destroy();
  await expect.poll(async () => (await gw.fetch('/file')).status).toBe(200);
});

test('a WebSocket counts as long as it is open', async (t) => {
  const port = await freePort();
  const upstream = new WebSocketServer({ host: '127.0.0.1', port });
  t.onTestFinished(() => {
    upstream.close();
  });
  const gw = await load(
    t,
    `${ZONE} error_page 404 = @in;
     server {
       location @in { return 200 in; }
       location / { limit_conn addr 1; }
       location /ws {
         limit_conn addr 1; proxy_pass http://127.0.0.1:${port}; proxy_http_version 1.1;
         proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;
       }
     }`,
  );
  const client = new WebSocket(`ws://127.0.0.1:${gw.port}/ws`);
  await once(client, 'open');
  await gw.expect('GET /', { status: 503 });
  client.close();
  await expect.poll(async () => (await gw.fetch('/')).status).toBe(200);
});
