import { expect, test } from 'vitest';
import { type Gateway, type Owner, startGateway } from '../harness/gateway.ts';
import { startPeer } from '../harness/peer.ts';
import { redis, type TestRedis } from '../harness/redis.ts';
import { clusterOf, joined, SECRET } from './gateways.ts';
import { postedJson } from './post.ts';

/** An origin whose responses are stored for an hour; gives its port. */
async function origin(t: Owner): Promise<number> {
  const { port } = await startPeer(t, 'origin', (_, response) => {
    response.setHeader('Cache-Control', 'max-age=3600').setHeader('Cache-Tag', 'news').end('page');
  });
  return port;
}

interface CachingNode {
  readonly id: string;
  readonly store: TestRedis;
  readonly upstream: number;
  readonly more?: string;
  /** A process of its own, for a test that starts it again. */
  readonly fresh?: boolean;
}

async function startCaching(
  t: Owner,
  { id, store, upstream, more = '', fresh = false }: CachingNode,
): Promise<Gateway> {
  const gw = await startGateway(
    t,
    `
    proxy_cache_path cache keys_zone=pages:1m;
    cluster main { backend ${store.url}; node_id ${id}; secret "${SECRET}"; heartbeat 500ms; batch 10ms; }
    cache_purge_cluster main; ${more}
    server {
      location / {
        proxy_pass http://127.0.0.1:${upstream}; proxy_cache pages; proxy_cache_key $uri; cache_tags;
        proxy_cache_purge $http_x_purge; add_header X-Cache $upstream_cache_status;
      }
      location = /purge { cache_purge_api; cache_purge_zone pages; }
      location = /prefixes { cache_purge_api; cache_purge_zone pages; cache_purge_match prefix; }
      location = /tags { cache_tags_purge; }
      location /_gw/ { control_console on; }
      location = /cluster { control_api cluster; }
    }`,
    { workers: 2, fresh },
  );
  await joined(gw);
  return gw;
}

const stateOf = async (gw: Gateway, path: string): Promise<string | null> =>
  (await gw.fetch(path)).headers.get('x-cache');

/** Asks for pages until they are stored. */
async function warm(gw: Gateway, ...paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await gw.fetch(path);
    await expect.poll(() => stateOf(gw, path)).toBe('HIT');
  }
}

const purge = (gw: Gateway, path: string, ...targets: readonly string[]) => postedJson(gw, path, { targets });

async function pair(t: Owner, store: TestRedis, fresh = false): Promise<readonly [Gateway, Gateway]> {
  const upstream = await origin(t);
  return Promise.all([
    startCaching(t, { id: 'a', store, upstream, fresh }),
    startCaching(t, { id: 'b', store, upstream, fresh }),
  ]);
}

test('what is purged on one gateway no other one serves: keys, prefixes, tags, and nothing else, however it is asked for', async (t) => {
  const store = await redis('--databases', '8');
  const [a, b] = await pair(t, store);
  await warm(b, '/one', '/two', '/three', '/four', '/five');
  // The one that is asked has nothing stored.
  expect((await a.fetch('/four', { headers: { 'X-Purge': '1' } })).status).toBe(404);
  await expect.poll(() => stateOf(b, '/four')).toBe('MISS');
  const headers = { 'Content-Type': 'application/json', 'X-Gw-Console': '1' };
  const body = JSON.stringify({ cache: 'pages', match: 'key', text: '/five' });
  expect((await a.fetch('/_gw/data/caches', { method: 'POST', headers, body })).status).toBe(200);
  await expect.poll(() => stateOf(b, '/five')).toBe('MISS');
  expect((await purge(a, '/purge', '/one')).status).toBe(200);
  await expect.poll(() => stateOf(b, '/one')).toBe('MISS');
  expect(await stateOf(b, '/two')).toBe('HIT');
  await purge(a, '/prefixes', '/tw');
  await expect.poll(() => stateOf(b, '/two')).toBe('MISS');
  expect(await stateOf(b, '/three')).toBe('HIT');
  expect((await a.fetch('/tags?tag=news', { method: 'DELETE' })).status).toBe(200);
  await expect.poll(() => stateOf(b, '/three')).toBe('MISS');
});

test('what is purged while the store is away is purged everywhere afterwards', async (t) => {
  const store = await redis('--databases', '9');
  const [a, b] = await pair(t, store);
  await warm(b, '/one', '/two');
  store.signal('SIGSTOP');
  expect((await purge(a, '/purge', '/one')).status).toBe(200);
  expect(await stateOf(b, '/one')).toBe('HIT');
  store.signal('SIGCONT');
  await expect.poll(() => stateOf(b, '/one'), { timeout: 10_000 }).toBe('MISS');
  expect(await stateOf(b, '/two')).toBe('HIT');
});

test('a gateway that was down does the purges of meanwhile when it comes back', async (t) => {
  const store = await redis('--databases', '10');
  const [a, b] = await pair(t, store, true);
  await warm(b, '/one', '/two');
  // Its position in the stream is in its file.
  await purge(a, '/purge', '/nothing');
  await expect.poll(async () => (await clusterOf(b)).streams[0]?.position).toBe(1);
  await b.stop();
  await purge(a, '/purge', '/one');
  b.start();
  await expect.poll(async () => (await b.fetch('/cluster')).status).toBe(200);
  await joined(b);
  await expect.poll(() => stateOf(b, '/one')).toBe('MISS');
  expect(await stateOf(b, '/two')).toBe('HIT');
});

for (const { it, more, gives } of [
  { it: 'empties its caches', more: '', gives: 'MISS' },
  { it: 'keeps its caches if it is told to', more: 'cache_purge_on_gap keep;', gives: 'HIT' },
]) {
  test(`a gateway that has missed purges ${it}`, async (t) => {
    const store = await redis('--databases', more === '' ? '11' : '12');
    const upstream = await origin(t);
    const a = await startCaching(t, { id: 'a', store, upstream });
    const b = await startCaching(t, { id: 'b', store, upstream, more });
    await warm(b, '/one');
    for (let i = 0; i < 5; i += 1) await purge(a, '/purge', `/nothing/${i}`);
    await expect.poll(async () => (await clusterOf(b)).streams[0]?.position).toBe(5);
    // As when a store has lost everything, and nobody has anything to send again.
    await a.stop();
    await store.client.flushall();
    await expect.poll(async () => (await clusterOf(b)).streams[0]?.gaps, { timeout: 10_000 }).toBe(1);
    expect(await stateOf(b, '/one')).toBe(gives);
  });
}
