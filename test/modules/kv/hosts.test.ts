import { once } from 'node:events';
import { beforeAll, expect, test } from 'vitest';
import { parseNetwork } from '../../../src/config/index.ts';
import { dial } from '../../../src/redis/dial.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { redis } from '../../harness/redis.ts';

const owner = wholeFile();

let gw: Gateway;
let store: Awaited<ReturnType<typeof redis>>;

beforeAll(async () => {
  store = await redis();
  const { port } = store;
  await store.client.set('k', 'v');
  const to = (pass: string): string => `kv_pass ${pass}; kv_key k;`;
  gw = await startGateway(
    owner,
    `upstream block { server 127.0.0.1:${port}; }
     map $arg_h $mapped { default 127.0.0.1; }
     server {
       location /free { ${to(`$arg_h:${port}`)} }
       location /all { ${to('$arg_h')} }
       location /url { ${to(`redis://$arg_h:${port}/0`)} }
       location /set { set $to $arg_h; ${to(`$to:${port}`)} }
       location ~ ^/group/([^/]+)/ { ${to(`$1:${port}`)} }
       location /map { ${to(`$mapped:${port}`)} }
       location /port { ${to('127.0.0.1:$arg_p')} }
       location /names { kv_allow_hosts localhost other.test; ${to(`$arg_h:${port}`)} }
       location /nets { kv_allow_hosts 127.0.0.0/8; ${to(`$arg_h:${port}`)} }
       location /strict { kv_allow_hosts 10.0.0.0/8 other.test localhost:1; ${to(`$arg_h:${port}`)} }
       location /blocks { kv_allow_hosts other.test; ${to('$arg_h')} }
     }`,
  );
});

const LOOPBACK = [
  '127.0.0.1',
  '127.1.2.3',
  '127.1',
  '2130706433',
  '0x7f000001',
  '017700000001',
  '0',
  '0.0.0.0',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::FFFF:7F00:1]',
  '[fe80::1]',
  '[fd00:ec2::254]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '169.254.169.254',
  'localhost',
  'LocalHost',
];
const refused: readonly string[] = [
  ...LOOPBACK.map((host) => `/free?h=${host}`),
  '/all?h=127.0.0.1:PORT',
  '/all?h=redis://127.0.0.1:PORT',
  '/all?h=redis://[::1]:PORT/1',
  '/all?h=localhost',
  '/all?h=rediss://localhost:PORT',
  '/url?h=localhost',
  '/set?h=127.0.0.1',
  '/group/localhost/',
  '/names?h=127.0.0.1',
  '/names?h=127.1',
  '/nets?h=[::1]',
  '/nets?h=10.0.0.1',
  '/strict?h=localhost',
  '/strict?h=127.0.0.1',
  '/blocks?h=localhost',
];
const accepted = async (): Promise<string | undefined> =>
  /total_connections_received:(\d+)/.exec(await store.client.info('stats'))?.[1];

for (const path of refused) {
  test(`kv_pass ${path} gets 403 and opens no connection`, async () => {
    const before = await accepted();
    const lines = gw.errorLog().split('\n').length;
    await gw.expect(`GET ${path.replace('PORT', String(store.port))}`, {
      status: 403,
      body: '{"error":"host_not_allowed"}',
    });
    expect(await accepted()).toBe(before);
    const added = gw
      .errorLog()
      .split('\n')
      .slice(lines - 1)
      .filter((line) => line.includes('[error]'));
    expect(added).toHaveLength(1);
    expect(added[0]).toMatch(/ kv: host "[^"]+" from variables is not allowed in "kv_pass",/);
  });
}

const passed: readonly string[] = [
  '/all?h=block',
  '/all?h=redis://block',
  '/blocks?h=block',
  '/map',
  '/port?p=PORT',
  '/names?h=localhost',
  '/names?h=LOCALHOST',
  '/nets?h=localhost',
  '/nets?h=127.0.0.1',
  '/nets?h=127.1',
  '/nets?h=[::ffff:127.0.0.1]',
];
for (const path of passed) {
  test(`kv_pass ${path} reaches its store`, async () => {
    const { status, body } = await gw.fetch(path.replace('PORT', String(store.port)));
    expect([status, String(body)]).toEqual([200, '{"value":"v"}']);
  });
}

test('a name that resolves to a refused address later is not connected to', async () => {
  const before = await accepted();
  const { network } = parseNetwork('10.0.0.0/8')!;
  const within = { networks: [{ network }], inside: true };
  const socket = dial({ kind: 'inet', host: 'localhost', port: store.port, within }, () => undefined);
  const [error] = (await once(socket, 'error')) as [Error];
  expect(error.message).toBe('host "localhost" from variables is not allowed');
  expect(await accepted()).toBe(before);
});
