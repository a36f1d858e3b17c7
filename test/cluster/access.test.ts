import { expect, test, type TestContext } from 'vitest';
import { MORE_COMMANDS, STORE_COMMANDS, StoreLost } from '../../src/cluster/index.ts';
import { startServer } from '../harness/redis-cluster.ts';
import { redis, type TestRedis } from '../harness/redis.ts';
import { keyEntryOf } from './keys.ts';
import { pretender, sentinelOf } from './pretender.ts';
import { entriesOf, freshNamespace, openStore, readyStore, type RedisTestStore } from './stores.ts';

const allowed = STORE_COMMANDS.map((name) => `+${name}`);

/** The address of a server, for a user who may use some keys and commands. */
async function userOf(
  keys: string,
  commands: readonly string[],
  server?: TestRedis,
): Promise<{ server: TestRedis; url: string }> {
  server ??= await redis('--databases', '2');
  await server.client.acl('SETUSER', 'gw', 'reset', 'on', '>sesame', keys, ...commands);
  return { server, url: `redis://gw:sesame@${server.host}:${server.port}` };
}

const topologies = [
  { it: 'one server', more: [], urlOf: ({ url }: { url: string }) => Promise.resolve(url) },
  {
    it: 'a Redis Cluster',
    start: startServer,
    // ASKING is for slots that move.
    more: MORE_COMMANDS.cluster.filter((name) => name !== 'asking'),
    urlOf: async ({ server, url }: { server: TestRedis; url: string }) => {
      await server.client.call('cluster', 'addslotsrange', 0, 16_383);
      await expect.poll(() => server.client.cluster('INFO')).toContain('cluster_state:ok');
      return url.replace('redis:', 'redis+cluster:');
    },
  },
  {
    it: 'a master of Sentinels',
    more: MORE_COMMANDS.sentinel,
    urlOf: async ({ server }: { server: TestRedis }, t: TestContext) => {
      const { port } = await pretender(t, sentinelOf(server));
      return `sentinel://gw:sesame@127.0.0.1:${port}/main`;
    },
  },
];

for (const { it, more, urlOf, start } of topologies) {
  test(`with ${it} a user needs the keys of the namespace and the commands in the list, all of them`, async (t) => {
    const namespace = freshNamespace();
    const needed = [...STORE_COMMANDS, ...more];
    const rights = needed.map((name) => `+${name}`);
    const user = await userOf(`~gw:{${namespace}:*`, rights, await start?.());
    const { client } = user.server;
    const url = await urlOf(user, t);
    await client.config('RESETSTAT');
    await client.script('FLUSH');
    const one = await readyStore({ url, namespace });
    await useAll(one, user.server);
    const used = [...(await client.info('commandstats')).matchAll(/^cmdstat_([^:]+):/gm)]
      .map(([, name]) => name)
      .filter((name) => !/^(?:auth|config|acl|script)\b/.test(name ?? ''));
    expect(new Set(used)).toEqual(new Set(needed));
  });
}

/** Has a store do everything that it can. */
async function useAll(one: RedisTestStore, { client }: TestRedis): Promise<void> {
  const { store } = one;
  const digests = new Map([['ev:a', '1']]);
  const facts = { incarnation: 'i1', facts: '{}', heartbeatMs: 60_000, digests };
  expect(await store.append('ev:a', entriesOf(one))).toEqual([1]);
  expect((await store.tail('ev:a', 5)).entries).toHaveLength(1);
  for (const nodeId of ['gw-a', 'gw-b']) await store.beat({ ...facts, nodeId });
  expect(await store.members()).toHaveLength(2);
  await store.leave('gw-a', 'i1');
  const bucket = { zone: 'one', keyHash: 'x', milliRequestsPerSecond: 1_000, burst: 0, requests: 2 };
  expect(await store.admit(bucket)).toEqual({ requests: 1, excess: 0 });
  expect(await store.policy()).toBe('noeviction');
  expect(await store.write('di:a', [keyEntryOf(one, { key: 'k', value: 'v' })])).toEqual([1]);
  expect((await store.keys('di:a')).entries).toHaveLength(1);
  expect(await store.lease('up:a', 'gw-a', 1_000)).toBe(true);
  await client.xadd(one.key('ev:b'), '9007199254740991-0', 'x', 'y');
  expect(await store.append('ev:b', entriesOf(one, { stream: 'ev:b' }))).toEqual([1]);
}

const refusals = [
  { it: 'the keys of another namespace', keys: '~gw:{other:*', commands: allowed, says: /^NOPERM / },
  { it: 'no scripts', keys: '~*', commands: ['+ping', '+xread'], says: /^NOPERM .*'evalsha'/ },
  {
    it: 'scripts whose commands are refused',
    keys: '~*',
    commands: [...allowed, '-xadd'],
    says: /xadd|can't run/,
  },
];
for (const { it, keys, commands, says } of refusals) {
  test(`a user with ${it} is refused in the words of the store`, async () => {
    const { url } = await userOf(keys, commands);
    const one = await openStore({ url });
    await expect.poll(() => one.told).toEqual(['up']);
    const refused = { name: 'StoreRefused', message: expect.stringMatching(says) as string };
    await expect(one.store.append('ev:a', entriesOf(one))).rejects.toMatchObject(refused);
    expect(one.told).toEqual(['up']);
  });
}

test('a store that does not tell its policy is no fault', async () => {
  const { url } = await userOf('~*', ['+@all', '-info']);
  const one = await readyStore({ url });
  expect(await one.store.policy()).toBeUndefined();
});

const logins = [
  { it: 'no password', login: '', says: 'NOAUTH Authentication required.' },
  {
    it: 'another password',
    login: ':open@',
    says: 'WRONGPASS invalid username-password pair or user is disabled.',
  },
];
for (const { it, login, says } of logins) {
  test(`a store that gets ${it} is down`, async () => {
    const { port } = await redis('--requirepass', 'sesame');
    const one = await openStore({ url: `redis://${login}127.0.0.1:${port}` });
    await expect.poll(() => one.told).toEqual([says]);
    await expect(one.store.append('ev:a', entriesOf(one))).rejects.toThrow(new StoreLost(says));
  });
}
