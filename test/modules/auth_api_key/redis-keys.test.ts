import { expect, test } from 'vitest';
import { RedisKeys } from '../../../src/modules/auth_api_key/redis-keys.ts';
import { type TestRedis, redis } from '../../harness/redis.ts';

/** Keys that are looked up again for each request. */
function openKeys({ port }: TestRedis, prefix: string): RedisKeys {
  const log = { write: () => undefined };
  const endpoints = [{ kind: 'inet', host: '127.0.0.1', port }] as const;
  return new RedisKeys({ endpoints, prefix, cacheMs: 0, log });
}

const TOO_MANY = { fault: 'the store of API keys is asked for too many at one time' };

test('too many questions at one time do not make known keys count', async (t) => {
  const server = await redis('--maxclients', '60');
  const keys = openKeys(server, 'many:');
  t.onTestFinished(() => keys.close());
  const known = Array.from({ length: 2_001 }, (_, n) => `known-${n}`);
  await Promise.all(known.map((name) => server.client.hset(`many:${name}`, { id: 'ann' })));
  for (const name of known) expect(await keys.find(name)).toMatchObject({ entry: { id: 'ann' } });
  server.signal('SIGSTOP');
  const strangers = Array.from({ length: 1_000 }, (_, n) => keys.find(`stranger-${n}`));
  expect(keys.find('one more')).toEqual(TOO_MANY);
  const asked = known.slice(0, 1_000).map((name) => keys.find(name));
  expect(asked.every((one) => one instanceof Promise)).toBe(true);
  expect(keys.find('known-1000')).toEqual(TOO_MANY);
  server.signal('SIGCONT');
  await Promise.all([...strangers, ...asked]);
});

const refusals = [
  {
    it: 'has another type now',
    spoil: async ({ client }: TestRedis) => {
      await client.del('spoilt:a');
      await client.set('spoilt:a', 'text');
    },
    fault: /WRONGTYPE$/,
  },
  {
    it: 'is malformed now',
    spoil: ({ client }: TestRedis) => client.hset('spoilt:a', 'expires', 'soon'),
    fault: /malformed$/,
  },
  {
    it: 'may not be read any more',
    spoil: ({ client }: TestRedis) => client.acl('SETUSER', 'default', '-hgetall'),
    fault: /NOPERM$/,
  },
];

for (const { it, spoil, fault } of refusals)
  test(`a known key that ${it} does not count`, async (t) => {
    const server = await redis('--maxclients', '61');
    await server.client.acl('SETUSER', 'default', '+@all');
    await server.client.flushall();
    const keys = openKeys(server, 'spoilt:');
    t.onTestFinished(() => keys.close());
    await server.client.hset('spoilt:a', { id: 'ann' });
    expect(await keys.find('a')).toMatchObject({ entry: { id: 'ann' } });
    await spoil(server);
    expect(await keys.find('a')).toMatchObject({ fault: expect.stringMatching(fault) as string });
  });

test('a known key counts while the store is away', async (t) => {
  const server = await redis('--maxclients', '62');
  const keys = openKeys(server, 'away:');
  t.onTestFinished(() => keys.close());
  await server.client.hset('away:a', { id: 'ann' });
  expect(await keys.find('a')).toMatchObject({ entry: { id: 'ann' } });
  await server.stop();
  expect(await keys.find('a')).toMatchObject({ entry: { id: 'ann' } });
  expect(await keys.find('b')).toMatchObject({ fault: expect.stringContaining('cannot be asked') as string });
});
