import { expect, test, vi } from 'vitest';
import type { ClusterNode, ClusterStore } from '../../src/cluster/index.ts';
import { redis } from '../harness/redis.ts';
import { startKeyedNode, startLightNode, type TestNode } from './keys.ts';
import { entriesOf, freshNamespace, readyStore } from './stores.ts';
import { Talk } from './talk.ts';

test('both nodes of a difference tell it, and no other one, until it ends', async () => {
  const { url } = await redis();
  const namespace = freshNamespace();
  const [a, b, other] = ['a', 'b', 'other'].map((id) => startLightNode(id, { url, namespace }).node) as [
    ClusterNode,
    ClusterNode,
    ClusterNode,
  ];
  const withdraw = a.declare('li:one', 'rate=1');
  b.declare('li:one', 'rate=2');
  other.declare('li:two', 'rate=1');
  await expect
    .poll(() => [a, b].map(({ status }) => status.conflicts))
    .toEqual([[{ stream: 'li:one', node_id: 'b' }], [{ stream: 'li:one', node_id: 'a' }]]);
  await expect.poll(() => other.status.members).toHaveLength(3);
  expect(other.status.conflicts).toEqual([]);
  withdraw();
  a.declare('li:one', 'rate=2');
  await expect.poll(() => [a, b].map(({ status }) => status.conflicts)).toEqual([[], []]);
});

test('nodes with different secrets tell that', async () => {
  const { url } = await redis();
  const namespace = freshNamespace();
  const [one, other] = ['a', 'b'].map((id) =>
    startLightNode(id, { url, namespace, secret: `the secret of ${id}` }),
  ) as [TestNode, TestNode];
  await expect
    .poll(() => [one, other].map(({ node }) => node.status.conflicts))
    .toEqual([[{ stream: 'secret', node_id: 'b' }], [{ stream: 'secret', node_id: 'a' }]]);
  const warning =
    /^warn: cluster "main": node "[ab]" has another secret: each of the two ignores what the other sends$/;
  expect([...one.log, ...other.log]).toEqual([expect.stringMatching(warning)]);
});

test('a store that evicts keys is told, in the log once, until it does not any more', async () => {
  const { url, client } = await redis('--maxmemory-policy', 'allkeys-lru');
  const { node, log } = startLightNode('a', { url, namespace: freshNamespace() });
  const warning = 'the store has "maxmemory-policy allkeys-lru": it may remove streams; set "noeviction"';
  await expect.poll(() => node.status.warnings).toEqual([warning]);
  await client.config('SET', 'maxmemory-policy', 'noeviction');
  await expect.poll(() => node.status.warnings).toEqual([]);
  expect(log).toEqual([`error: cluster "main": ${warning}`]);
});

test('two live nodes of one name tell that, until one of them leaves', async () => {
  const { url } = await redis();
  const namespace = freshNamespace();
  const [one, other] = [startLightNode('a', { url, namespace }), startLightNode('a', { url, namespace })];
  const told = (): readonly string[] => [...one.node.status.warnings, ...other.node.status.warnings];
  await expect.poll(told).toContain('another live node has the id "a", too');
  await other.close();
  await expect.poll(() => one.node.status.warnings).toEqual([]);
});

test('what nodes say of themselves is shown only if it can be that', async () => {
  const store = await redis();
  const namespace = freshNamespace();
  const { node } = startLightNode('a', { url: store.url, namespace });
  node.declare('li:one', '1');
  await expect.poll(() => node.status.state).toBe('up');
  const said = [
    'no JSON',
    'null',
    '{"version":7,"differs":"li:one"}',
    `{"version":"${'9'.repeat(100)}","differs":[null,1,"li:none","li:one"]}`,
  ];
  for (const [nth, facts] of said.entries()) {
    await store.client.hset(`gw:{${namespace}:nodes}:f`, `n${nth}`, `i ${facts}`);
    await store.client.zadd(`gw:{${namespace}:nodes}`, Date.now() + 60_000, `n${nth}`);
  }
  await expect
    .poll(() => node.status.members.map(({ version }) => version))
    .toEqual(['0', '', '', '', '9'.repeat(64)]);
  expect(node.status.conflicts).toEqual([{ stream: 'li:one', node_id: 'n3' }]);
});

test('a stream that the store has lost, or has with other entries, is read anew, and that is counted', async () => {
  const store = await redis('--databases', '13');
  const namespaces = [freshNamespace(), freshNamespace()] as const;
  const nodes = namespaces.map((namespace) => startLightNode('a', { url: store.url, namespace }));
  const talks = namespaces.map(() => new Talk('a-1'));
  for (const [nth, { node }] of nodes.entries()) node.add(talks[nth] as Talk);
  for (const talk of talks) talk.say('one');
  for (const { node } of nodes) await expect.poll(() => node.status.streams[0]?.position).toBe(1);
  const [{ counts, node }, other] = nodes as [TestNode, TestNode];
  expect(counts).not.toHaveProperty('resynced');
  await other.close();
  const [keys, others] = namespaces.map((namespace) => {
    const key = `gw:{${namespace}:ev:talk}`;
    return [key, `${key}:n`];
  }) as [string[], string[]];
  const change = store.client.multi();
  for (const [nth, key] of others.entries()) change.rename(key, keys[nth] as string);
  await change.exec();
  await expect.poll(() => counts).toMatchObject({ gap: 1, resynced: 1 });
  await expect.poll(() => node.status.streams[0]?.position).toBe(1);
  await store.client.flushdb();
  await expect.poll(() => counts).toMatchObject({ gap: 2, resynced: 2 });
});

test('what a store that was emptied had lately is sent again, and told as a gap, also if it has more by then', async () => {
  const one = await readyStore();
  const { client, url } = await redis();
  const { namespace } = one.seal;
  const start = (id: string): TestNode & { readonly talk: Talk } => {
    const talk = new Talk(id, 'ev:a');
    const started = startLightNode(id, { url, namespace });
    started.node.add(talk);
    return { ...started, talk };
  };
  const [a, b] = [start('a'), start('b')];
  a.talk.say('mine');
  // A node that has not read anything yet misses nothing.
  const positions = (): unknown[] => [a, b].map(({ node }) => node.status.streams[0]?.position);
  await expect.poll(positions).toEqual([1, 1]);
  expect(b.talk.heard).toEqual(['mine']);
  await client.del(one.key('ev:a'), `${one.key('ev:a')}:n`);
  await one.store.append('ev:a', entriesOf(one, { count: 3, payload: 'theirs' }));
  await expect.poll(() => [a.counts['gap'], b.counts['gap']]).toEqual([1, 1]);
  const late = start('late');
  // Those that see the store while it is empty send theirs before the others come.
  await expect.poll(() => late.talk.heard.toSorted()).toEqual(['mine', 'theirs', 'theirs', 'theirs']);
  expect(b.talk.heard.filter((word) => word === 'mine')).toEqual(['mine']);
});

test('a heartbeat does not wait for a stream that the store does not answer for', async () => {
  const { url } = await redis();
  let beats = 0;
  const hung = (store: ClusterStore): ClusterStore => {
    const send = store.beat.bind(store);
    vi.spyOn(store, 'beat').mockImplementation((told) => {
      beats += 1;
      // The streams are read once before they hang.
      if (beats > 1) vi.spyOn(store, 'look').mockReturnValue(new Promise(() => undefined));
      return send(told);
    });
    return store;
  };
  startKeyedNode('a', { url, namespace: freshNamespace(), through: hung });
  await expect.poll(() => beats).toBeGreaterThan(5);
});
