import { createServer } from 'node:net';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { redis } from '../../harness/redis.ts';

const load = oneGateway();

const socket = join(tmpdir(), `gw-kv-${process.pid}.sock`);
const PASSWORD = 'p@ss:word/1';
const LOGIN = encodeURIComponent(PASSWORD);

const addresses = [
  { it: 'host and port', pass: (port: number) => `127.0.0.1:${port}` },
  { it: 'an IPv6 address', pass: (port: number) => `[::1]:${port}` },
  { it: 'a socket', pass: () => `unix:${socket}` },
  { it: 'a URL', pass: (port: number) => `redis://127.0.0.1:${port}/0` },
  { it: 'a variable', pass: () => '127.0.0.1:$arg_port' },
  { it: 'a URL with a variable', pass: () => 'redis://$arg_host:$arg_port/0' },
  { it: 'an upstream by a variable', pass: () => '$arg_name' },
];
test.each(addresses)('kv_pass reaches a store by $it', async ({ pass }) => {
  const { port, client } = await redis('--unixsocket', socket, '--bind', '127.0.0.1', '::1');
  await client.set('k', 'v');
  const upstream = `upstream cache { server 127.0.0.1:${port}; }`;
  const gw = await load(
    { onTestFinished },
    `${upstream} server { location / { kv_allow_hosts 127.0.0.1; kv_pass ${pass(port)}; kv_key k; } }`,
  );
  await gw.expect(`GET /?port=${port}&host=127.0.0.1&name=cache`, { status: 200, body: '{"value":"v"}' });
});

test('kv_pass logs in, selects the database and keeps the password out of the log', async (t) => {
  const { port, client } = await redis('--requirepass', PASSWORD);
  const admin = client.duplicate({ password: PASSWORD, db: 3 });
  await admin.set('k', 'in database 3');
  admin.disconnect();
  const gw = await load(
    t,
    `server {
       location /right { kv_pass redis://:${LOGIN}@127.0.0.1:${port}/3; kv_key k; }
       location /wrong { kv_pass redis://:${LOGIN}x@127.0.0.1:${port}/3; kv_key k; }
       location /none { kv_pass 127.0.0.1:${port}; kv_key k; }
       location /database { kv_pass redis://:${LOGIN}@127.0.0.1:${port}/999; kv_key k; }
     }`,
  );
  await gw.expect('GET /right', { status: 200, body: '{"value":"in database 3"}' });
  await gw.expect('GET /wrong', { status: 502, body: '{"error":"connection_failed"}' });
  await gw.expect('GET /none', { status: 500, body: '{"error":"kv_error"}' });
  await gw.expect('GET /database', { status: 502, body: '{"error":"connection_failed"}' });
  await gw.waitForLog(/kv: "get" failed on 127\.0\.0\.1:\d+: NOAUTH/);
  const said = `${gw.errorLog()}${gw.output()}`;
  expect(said).not.toContain(PASSWORD);
  expect(said).not.toContain(LOGIN);
});

const refused = ['unix:/run/redis.sock', 'embedded', 'redis://:pw@127.0.0.1:1', 'http://127.0.0.1', ''];
test.each(refused)('kv_pass with a variable refuses "%s"', async (address) => {
  const { client } = await redis();
  await client.set('k', 'v');
  const gw = await load({ onTestFinished }, `server { location / { kv_pass $http_x_address; kv_key k; } }`);
  await gw.expect(
    'GET /',
    { status: 502, body: '{"error":"connection_failed"}' },
    { headers: { 'X-Address': address } },
  );
  await gw.waitForLog(/kv: "kv_pass" .* in an address from variables/);
});

test('kv_pass with a variable keeps a bounded number of addresses open', async (t) => {
  const opened: number[] = [];
  const closed: number[] = [];
  const servers = Array.from({ length: 70 }, (_, at) =>
    createServer((peer) => {
      opened.push(at);
      peer.on('data', () => peer.write('+PONG\r\n')).on('error', () => undefined);
      peer.on('close', () => closed.push(at));
    }).listen(0, '127.0.0.1'),
  );
  t.onTestFinished(() => servers.forEach((server) => server.close()));
  const gw = await load(t, 'server { location / { kv_pass 127.0.0.1:$arg_port; kv_command ping; } }');
  for (const server of servers) {
    const address = server.address();
    await gw.expect(`GET /?port=${typeof address === 'object' ? address?.port : ''}`, { status: 200 });
  }
  expect(opened.length).toBe(70);
  expect(closed).toEqual([0, 1, 2, 3, 4, 5]);
});
