import { expect, test } from 'vitest';
import { redis } from '../harness/redis.ts';
import { freshNamespace, readyStore, STORES, type TestStore } from './stores.ts';

const HEARTBEAT_MS = 60_000;

/** Gives a sign of life; `digests` are words such as `ev:a=1`. */
const beat = (
  { store }: TestStore,
  nodeId: string,
  { incarnation = 'i1', digests = '', facts = '{}' } = {},
) =>
  store.beat({
    nodeId,
    incarnation,
    facts,
    heartbeatMs: HEARTBEAT_MS,
    digests: new Map(digests.split(' ').flatMap((one) => (one ? [one.split('=') as [string, string]] : []))),
  });

const heard = (members: number, conflicts: readonly unknown[] = [], isTaken = false) => ({
  members,
  conflicts,
  isTaken,
});

for (const [kind, ready] of Object.entries(STORES)) {
  test(`${kind}: nodes hear of each other until they leave or fall silent`, async () => {
    const one = await ready();
    expect(await beat(one, 'gw-a')).toEqual(heard(1));
    expect(await beat(one, 'gw-b', { facts: '{"a": "ü b"}' })).toEqual(heard(2));
    expect(await beat(one, 'gw-c')).toEqual(heard(3));
    await one.store.leave('gw-c', 'another');
    expect(await beat(one, 'gw-a')).toEqual(heard(3));
    await one.store.leave('gw-c', 'i1');
    expect(await beat(one, 'gw-a')).toEqual(heard(2));
    await one.age('gw-b', 3 * HEARTBEAT_MS);
    expect(await beat(one, 'gw-a')).toEqual(heard(1));
    const members = await one.store.members();
    const shown = { incarnation: 'i1', ageMs: expect.any(Number) as number };
    expect(members).toEqual([
      { ...shown, nodeId: 'gw-a', facts: '{}' },
      { ...shown, nodeId: 'gw-b', facts: '{"a": "ü b"}' },
    ]);
    expect(members[0]?.ageMs).toBeLessThan(HEARTBEAT_MS);
    expect(members[1]?.ageMs).toBeGreaterThanOrEqual(3 * HEARTBEAT_MS);
  });

  test(`${kind}: a node of the same name is noticed while it is live`, async () => {
    const one = await ready();
    expect(await beat(one, 'gw-a')).toEqual(heard(1));
    expect(await beat(one, 'gw-a', { incarnation: 'i2' })).toEqual(heard(1, [], true));
    expect(await beat(one, 'gw-a', { incarnation: 'i2' })).toEqual(heard(1));
    expect(await beat(one, 'gw-a')).toEqual(heard(1, [], true));
    await one.age('gw-a', 3 * HEARTBEAT_MS);
    expect(await beat(one, 'gw-a', { incarnation: 'i2' })).toEqual(heard(1));
  });

  test(`${kind}: a difference between the parameters of a stream is told until it ends`, async () => {
    const one = await ready();
    const conflict = (nodeId: string) => [{ stream: 'ev:a', nodeId }];
    expect(await beat(one, 'gw-a', { digests: 'ev:a=1 ev:b=1' })).toEqual(heard(1));
    expect(await beat(one, 'gw-b', { digests: 'ev:b=1 ev:a=1' })).toEqual(heard(2));
    expect(await beat(one, 'gw-b', { digests: 'ev:b=1 ev:a=2' })).toEqual(heard(2, conflict('gw-a')));
    expect(await beat(one, 'gw-a', { digests: 'ev:a=2 ev:b=1' })).toEqual(heard(2));
    expect(await beat(one, 'gw-b', { digests: 'ev:b=1 ev:a=2' })).toEqual(heard(2));
    expect(await beat(one, 'gw-b', { digests: 'ev:a=3' })).toEqual(heard(2, conflict('gw-a')));
    await one.age('gw-a', 3 * HEARTBEAT_MS);
    expect(await beat(one, 'gw-b', { digests: 'ev:a=3' })).toEqual(heard(1));
    expect(await beat(one, 'gw-a', { digests: 'ev:a=2' })).toEqual(heard(2, conflict('gw-b')));
    await one.store.leave('gw-b', 'i1');
    expect(await beat(one, 'gw-a', { digests: 'ev:a=2' })).toEqual(heard(1));
  });
}

test('nodes are forgotten after a day, with all they said', async () => {
  const one = await readyStore();
  const { client } = await redis();
  const { namespace } = one.seal;
  for (let nth = 0; nth < 25; nth++) {
    await beat(one, `gw-${nth}`, { digests: `ev:${nth}=1` });
    await one.age(`gw-${nth}`, 86_400_001);
  }
  for (let nth = 0; nth < 3; nth++) expect(await beat(one, 'gw-a', { digests: 'ev:a=1' })).toEqual(heard(1));
  expect(await one.store.members()).toHaveLength(1);
  expect(await client.hkeys(`gw:{${namespace}:nodes}:f`)).toEqual(['gw-a']);
  expect(await client.hgetall(`gw:{${namespace}:nodes}:d`)).toEqual({ 'ev:a': '1 gw-a' });
});

test('members that somebody else has added are shown as they are, and not without end', async () => {
  const namespace = freshNamespace();
  const one = await readyStore({ namespace });
  const { client } = await redis();
  const nodes = `gw:{${namespace}:nodes}`;
  await beat(one, 'gw-a');
  await client.zadd(nodes, 5, 'silent');
  for (let nth = 0; nth < 10; nth++) {
    await client.zadd(nodes, 4, `large-${nth}`);
    await client.hset(`${nodes}:f`, `large-${nth}`, 'x'.repeat(2_000_000));
  }
  expect(await one.store.members()).toMatchObject([
    { nodeId: 'gw-a' },
    ...Array<unknown>(4).fill({
      nodeId: expect.stringMatching('large-') as string,
      incarnation: '',
      facts: '',
    }),
    { nodeId: 'silent', incarnation: '', facts: '' },
  ]);
});
