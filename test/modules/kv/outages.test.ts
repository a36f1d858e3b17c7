import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test, type TestContext, vi } from 'vitest';
import { oneGateway, startGateway, type Gateway } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';
import { redis } from '../../harness/redis.ts';
import { perTier } from '../../harness/tier.ts';

const load = oneGateway();

const failed = { status: 502, body: '{"error":"connection_failed"}' };
const late = { status: 504, body: '{"error":"timeout"}' };
const pong = { status: 200, body: '{"ok":true}' };

const ping = (pass: string): string => `location = /ping { kv_pass ${pass}; kv_command ping;
  add_header X-State $kv_connection_state always; add_header X-Error $kv_last_error always; }`;

const untilServed = (gw: Gateway, path = '/ping') =>
  vi.waitFor(async () => expect((await gw.fetch(path)).status).toBe(200), 10_000);

test('requests get 502 at once while the store is down, and 200 soon after it is back', async (t) => {
  const server = await redis();
  const gw = await startGateway(
    t,
    `server { ${ping(`127.0.0.1:${server.port}`)} location /ok { return 200; } }`,
  );
  await gw.expect('GET /ping', { ...pong, headers: { 'x-state': 'connected', 'x-error': null } });
  await server.stop('SIGKILL');
  await gw.waitForLog(/kv: no connection to/);
  await gw.expect('GET /ping', {
    ...failed,
    headers: { 'x-state': 'error', 'x-error': 'connection_failed' },
  });
  await gw.expect('GET /ok', { status: 200 });
  await server.start();
  await untilServed(gw);
});

test('requests get 504 while the store is frozen, and 502 once it is given up', async (t) => {
  const server = await redis();
  const settings = 'kv_timeout 200ms; kv_connect_timeout 200ms;';
  const gw = await startGateway(t, `${settings} server { ${ping(`127.0.0.1:${server.port}`)} }`);
  await gw.expect('GET /ping', pong);
  server.signal('SIGSTOP');
  for (let n = 0; n < 3; n++)
    await gw.expect('GET /ping', { ...late, headers: { 'x-error': 'connection_failed' } });
  await gw.expect('GET /ping', { ...failed, headers: { 'x-state': 'error' } });
  server.signal('SIGCONT');
  await untilServed(gw);
});

test('a store is degraded while one of its two connections is down', async (t) => {
  const server = await redis();
  const down = await freePort();
  const upstream = `upstream cache { server 127.0.0.1:${server.port}; server 127.0.0.1:${down}; }`;
  const gw = await load(t, `${upstream} server { ${ping('cache')} }`);
  for (let n = 0; n < 4; n++) await gw.expect('GET /ping', { ...pong, headers: { 'x-state': 'degraded' } });
});

/** The number of increments of each of the 20 clients. */
const INCREMENTS = perTier({ short: 100, long: 500 });

test(`two workers lose none of ${20 * INCREMENTS} increments`, async (t) => {
  const { port, client } = await redis();
  const conf = `server {
    location /redis { kv_pass 127.0.0.1:${port}; kv_command incr; kv_key n; }
    location /off { kv_pass 127.0.0.1:${port}; kv_command incr; kv_key off; kv_pipelining off; kv_connections 3; }
    location /embedded { kv_pass embedded; kv_command incr; kv_key n; }
    location /get { kv_pass embedded; kv_key n; }
  }`;
  const gw = await startGateway(t, conf, { workers: 2 });
  for (const path of ['/redis', '/off', '/embedded']) {
    const statuses = await Promise.all(Array.from({ length: 20 }, () => post(gw, path, INCREMENTS)));
    expect(new Set(statuses.flat()), path).toEqual(new Set(['200']));
  }
  const all = String(20 * INCREMENTS);
  expect(await client.mget('n', 'off')).toEqual([all, all]);
  await gw.expect('GET /get', { body: `{"value":"${all}"}` });
});

/** Sends requests one after the other on a new connection. Returns the statuses. */
async function post(gw: Gateway, path: string, times: number): Promise<string[]> {
  const socket = connect(gw.port, '127.0.0.1').setEncoding('latin1');
  const statuses: string[] = [];
  let text = '';
  const send = (): void => void socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`);
  socket.on('data', (chunk: string) => {
    text += chunk;
    if (!text.endsWith('}')) return;
    statuses.push(text.slice(9, 12));
    text = '';
    if (statuses.length < times) send();
    else socket.end();
  });
  send();
  await once(socket, 'close');
  return statuses;
}

test('a write of one worker is seen by the next read of any other', async (t) => {
  const conf = `server {
    location /set { kv_pass embedded; kv_command set; kv_key k; }
    location /get { kv_pass embedded; kv_key k; }
  }`;
  const gw = await startGateway(t, conf, { workers: 2 });
  for (let n = 0; n < 100; n++) {
    await gw.expect('POST /set', { status: 200 }, { body: String(n) });
    await Promise.all([1, 2, 3].map(() => gw.expect('GET /get', { body: `{"value":"${n}"}` })));
  }
});

test('a reload keeps the connections of a store that stays the same', async (t: TestContext) => {
  const { port, client } = await redis();
  const conf = (text: string): string =>
    `server { ${ping(`127.0.0.1:${port}`)} location /text { return 200 ${text}; } }`;
  const gw = await load(t, conf('one'));
  await gw.expect('GET /ping', pong);
  const before = await connections();
  expect(await gw.reload(conf('two'))).toBe('done');
  await gw.expect('GET /text', { body: 'two' });
  await gw.expect('GET /ping', pong);
  expect(await connections()).toEqual(before);
  expect(await gw.reload('server { location / { return 204; } }')).toBe('done');
  // Connections of earlier tests may end meanwhile, too.
  await vi.waitFor(async () => expect((await connections()).length).toBeLessThan(before.length), 10_000);

  async function connections(): Promise<string[]> {
    const list = (await client.client('LIST')) as string;
    return [...list.matchAll(/^id=(\d+)/gm)].map(([, id]) => id as string);
  }
});

test('an outage of a store is one line of a request, and a number when it is over', async (t) => {
  const server = await redis();
  const gw = await startGateway(t, `server { request_id_header X-Id; ${ping(`127.0.0.1:${server.port}`)} }`, {
    main: 'error_log json.log error json;',
  });
  await gw.expect('GET /ping', pong);
  await server.stop('SIGKILL');
  await gw.waitForLog(/kv: no connection to/);
  for (let n = 0; n < 20; n++) await gw.expect('GET /ping', failed, { headers: { 'X-Id': `request-${n}` } });
  await server.start();
  await untilServed(gw);
  const [, count] = await gw.waitForLog(/kv: (\d+) requests for 127\.0\.0\.1:\d+ failed/);
  expect(Number(count)).toBeGreaterThanOrEqual(20);
  const ofRequests = gw
    .read('json.log')
    .split('\n')
    .filter((line) => line.includes('"ping\\" failed'));
  expect(ofRequests).toHaveLength(1);
  expect(ofRequests[0]).toContain('"request_id":"request-0"');
});
