import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import { redis, type TestRedis } from '../../harness/redis.ts';

const load = oneGateway({ workers: 2 });
const SOON = { timeout: 15_000, interval: 20 };
const KEY = 'gw:app';

/** Each test has another server in the block, so that members of earlier tests are not used. */
let used = 0;
let stores = 1;

const confOf = (address: string, more = ''): string =>
  `upstream app { server 10.0.1.${++used}:80; dynamic_upstreams_managed; }
   ${more}
   server {
     location = /app {
       dynamic_upstreams_api; dynamic_upstreams_target app; dynamic_upstreams_refresh 50;
       dynamic_upstreams_source redis; dynamic_upstreams_redis ${address} ${KEY};
       dynamic_upstreams_worker_events_zone bus; dynamic_upstreams_worker_events_channel app${used};
     }
     location = /events { worker_events_api; worker_events_zone bus; worker_events_channel app${used}; }
     location = /metrics { control_api metrics; }
   }`;

const listOf = (...peers: readonly string[]): string =>
  JSON.stringify({ peers: peers.map((address) => ({ address })) });

interface GroupState {
  readonly source: string;
  readonly writable: boolean;
  readonly last_error_code: number;
  readonly peers: readonly { readonly address: string }[];
}

const show = async (gw: Gateway): Promise<GroupState> =>
  JSON.parse((await gw.fetch('/app')).body) as GroupState;
const addresses = async (gw: Gateway): Promise<string> =>
  (await show(gw)).peers.map(({ address }) => address).join(' ');

interface Events {
  readonly newest_generation: number;
  readonly events: readonly { readonly type: string }[];
}

const events = async (gw: Gateway, since = 0): Promise<Events> =>
  JSON.parse((await gw.fetch(`/events?since=${since}`)).body) as Events;

/** Returns the number of failures in the metrics. */
async function failures(gw: Gateway): Promise<number> {
  const { body } = await gw.fetch('/metrics');
  const [, count = '0'] =
    /gw_upstream_refresh_failures_total\{upstream="app",source="redis"\} (\d+)/.exec(body) ?? [];
  return Number(count);
}

async function loadWith(t: TestContext, store: TestRedis): Promise<Gateway> {
  await store.client.set(KEY, listOf('10.1.0.1:80'));
  return load(t, confOf(`${store.host}:${store.port}`));
}

test('the peers of a key are known before the first request, and follow the key', async (t) => {
  const store = await redis();
  const gw = await loadWith(t, store);
  expect(await show(gw)).toMatchObject({ source: 'redis', writable: false });
  expect(await addresses(gw)).toBe('10.1.0.1:80');
  await store.client.set(KEY, listOf('10.1.0.2:80', '10.1.0.3:80'));
  await expect.poll(() => addresses(gw), SOON).toBe('10.1.0.2:80 10.1.0.3:80');
});

/** Returns the log lines about the source, in order. */
const told = (gw: Gateway): readonly string[] =>
  [...gw.errorLog().matchAll(/source "redis" of upstream "app": .*/g)].map(([line]) => line);

interface Failure {
  readonly it: string;
  readonly code: number;
  readonly says: RegExp;
  breaks(store: TestRedis): Promise<unknown>;
  mends?(store: TestRedis): Promise<unknown>;
}

const broken: readonly Failure[] = [
  {
    it: 'garbage',
    code: 4001,
    says: /not valid JSON/,
    breaks: ({ client }) => client.set(KEY, Buffer.from([0xff, 0])),
  },
  { it: 'an empty string', code: 4001, says: /not valid JSON/, breaks: ({ client }) => client.set(KEY, '') },
  { it: 'another shape', code: 4002, says: /JSON object/, breaks: ({ client }) => client.set(KEY, '[]') },
  {
    it: 'a peer with a fault',
    code: 4003,
    says: /peers\[0\]\.address/,
    breaks: ({ client }) => client.set(KEY, listOf('nowhere')),
  },
  { it: 'a key that is gone', code: 4002, says: /is empty/, breaks: ({ client }) => client.del(KEY) },
  { it: 'an empty list', code: 4002, says: /is empty/, breaks: ({ client }) => client.set(KEY, listOf()) },
  {
    it: 'a string of 2 MiB',
    code: 5002,
    says: /exceeds/,
    breaks: ({ client }) => client.set(KEY, ' '.repeat(2 * 1024 ** 2)),
  },
  {
    it: 'a key of another type',
    code: 5002,
    says: /it refuses "get": WRONGTYPE$/m,
    breaks: ({ client }) => client.multi().del(KEY).rpush(KEY, 'x').exec(),
    mends: ({ client }) => client.del(KEY),
  },
  {
    it: 'a store that has gone',
    code: 5002,
    says: /ECONNREFUSED/,
    breaks: ({ stop }) => stop(),
    mends: ({ start }) => start(),
  },
  {
    it: 'a store that does not respond',
    code: 5002,
    says: /does not answer/,
    breaks: ({ signal }) => Promise.resolve(signal('SIGSTOP')),
    mends: ({ signal }) => Promise.resolve(signal('SIGCONT')),
  },
];

for (const { it, code, says, breaks, mends } of broken) {
  test(`${it} keeps the last good set and is logged once`, { timeout: 30_000 }, async (t) => {
    // A server that a case stops is not shared with other cases.
    const store = await (mends ? redis('--databases', String(++stores)) : redis());
    const gw = await loadWith(t, store);
    const { newest_generation: since } = await events(gw);
    await breaks(store);
    // A read that was pending when the store ended may log another failure first.
    await expect.poll(() => told(gw).at(-1), SOON).toMatch(says);
    await expect.poll(async () => (await show(gw)).last_error_code, SOON).toBe(code);
    const failed = await failures(gw);
    await expect.poll(() => failures(gw), SOON).toBeGreaterThan(failed);
    expect(await addresses(gw)).toBe('10.1.0.1:80');
    const failings = told(gw);
    expect(failings).toEqual([...new Set(failings)]);
    expect((await events(gw, since)).events.map(({ type }) => type)).toEqual(
      failings.map(() => 'refresh_failed'),
    );
    await mends?.(store);
    await store.client.set(KEY, listOf('10.1.0.2:80'));
    await expect.poll(() => addresses(gw), SOON).toBe('10.1.0.2:80');
  });
}

test('after a reload the same worker asks, and logs a failure once', async (t) => {
  const store = await redis();
  await store.client.set(KEY, listOf());
  const conf = confOf(`${store.host}:${store.port}`);
  const gw = await load(t, conf);
  for (let reloads = 1; reloads <= 5; reloads += 1) {
    const known = told(gw).length;
    expect(await gw.reload(conf)).toBe('done');
    const failed = await failures(gw);
    await expect.poll(() => failures(gw), SOON).toBeGreaterThan(failed + 3);
    // A line that comes again within a second is written with its number.
    await expect.poll(() => told(gw).length, SOON).toBe(known + 1);
  }
});

test('with dynamic_upstreams_empty accept, a deleted key empties the group', async (t) => {
  const store = await redis();
  await store.client.set(KEY, listOf('10.1.0.1:80'));
  const conf = confOf(`127.0.0.1:${store.port}`).replace(
    'source redis;',
    'source redis; dynamic_upstreams_empty accept;',
  );
  const gw = await load(t, conf);
  expect(await addresses(gw)).toBe('10.1.0.1:80');
  await store.client.del(KEY);
  await expect.poll(() => addresses(gw), SOON).toBe('');
});

test('a password opens the store, and is in no log and no response', async (t) => {
  const store = await redis('--timeout', '600');
  await store.client.select(2);
  await store.client.set(KEY, listOf('10.1.0.7:80'));
  await store.client.config('SET', 'requirepass', 'sesame-open');
  const conf = confOf(`redis://:sesame-open@127.0.0.1:${store.port}/2`);
  const gw = await load(t, conf);
  expect(await addresses(gw)).toBe('10.1.0.7:80');
  await store.client.config('SET', 'requirepass', 'another');
  await gw.waitForLog(/source "redis" of upstream "app": 127\.0\.0\.1:\d+: WRONGPASS/);
  expect(gw.errorLog()).not.toContain('sesame');
  expect((await gw.fetch('/app')).body).not.toContain('sesame');
});

test('the store may be a Unix socket, or a server of an upstream that responds', async (t) => {
  const path = join(tmpdir(), `gw-members-${process.pid}.sock`);
  const store = await redis('--unixsocket', path);
  await store.client.set(KEY, listOf('10.1.0.8:80'));
  expect(await addresses(await load(t, confOf(`unix:${path}`)))).toBe('10.1.0.8:80');
  const block = `upstream stores { server 127.0.0.1:1; server 127.0.0.1:${store.port}; }`;
  expect(await addresses(await load(t, confOf('stores', block)))).toBe('10.1.0.8:80');
});

const replies = [
  { it: 'breaks off', reply: '$100\r\n{"pe', ends: true, says: /connection closed/ },
  { it: 'stops in the middle', reply: '$100\r\n{"pe', ends: false, says: /it took too long/ },
  { it: 'is a number', reply: ':5\r\n', ends: false, says: /the reply is no string/ },
  { it: 'is not RESP', reply: 'HTTP/1.1 200 OK\r\n\r\n', ends: false, says: /reply/ },
  { it: 'announces a great length', reply: '$2000000000\r\n', ends: false, says: /exceeds/ },
] as const;

for (const { it, reply, ends, says } of replies) {
  test(`a reply that ${it} is a failure, and its connection is closed`, { timeout: 30_000 }, async (t) => {
    const open = new Set<Socket>();
    const store = createServer((socket) => {
      open.add(socket);
      socket.on('error', () => undefined).on('close', () => open.delete(socket));
      socket.on('data', (bytes) => {
        if (bytes.includes('ping')) socket.write('+PONG\r\n');
        else socket.write(reply, () => ends && socket.end());
      });
    });
    await once(store.listen(0, '127.0.0.1'), 'listening');
    t.onTestFinished(() => void store.close());
    // The log of the first failure is kept across this reload.
    const conf = confOf(`127.0.0.1:${(store.address() as AddressInfo).port}`);
    const gw = await load(t, '');
    expect(await gw.reload(conf.replace('refresh 50;', 'refresh 1h;'))).toBe('done');
    await gw.waitForLog(says);
    expect(await addresses(gw)).toBe(`10.0.1.${used}:80`);
    await expect.poll(() => open.size, SOON).toBe(0);
  });
}
