import { expect, test } from 'vitest';
import type { ClusterNode, ClusterStore, SealedEntry } from '../../src/cluster/index.ts';
import { KeyedStream } from '../../src/cluster/node/keyed-stream.ts';
import { NodeWarnings } from '../../src/cluster/node/node-warnings.ts';
import { Outbox, OutboxBytes } from '../../src/cluster/node/outbox.ts';
import { EVENT_LIMITS } from '../../src/zone/index.ts';
import { redis } from '../harness/redis.ts';
import { startLightNode, TestKeys } from './keys.ts';
import { lossyProxy } from './lossy-proxy.ts';
import { freshNamespace, readyStore } from './stores.ts';
import { Talk } from './talk.ts';

interface Talker {
  readonly node: ClusterNode;
  readonly talk: Talk;
}

const sizeOf = ({ fields }: SealedEntry): number => fields.join('').length;
const total = (entries: readonly SealedEntry[]): number =>
  entries.reduce((sum, entry) => sum + sizeOf(entry), 0);

const outboxes = [
  { it: 'small ones', size: 10, count: 256 },
  { it: 'some large ones', size: 50_000, count: 2 },
  { it: 'one that is larger by itself', size: 500_000, count: 1 },
];
for (const { it, size, count } of outboxes) {
  test(`a call to the store carries ${it} of the entries that wait`, () => {
    const outbox = new Outbox(new OutboxBytes(1_000_000_000), () => undefined);
    for (let sequence = 1; sequence <= 300; sequence += 1)
      outbox.add({ origin: 'a', incarnation: 'i', sequence, mac: '', fields: ['x'.repeat(size)] });
    expect(outbox.first(256)).toHaveLength(count);
  });
}

function warnings() {
  const announced: string[] = [];
  const ignore = (): void => undefined;
  const counts = new NodeWarnings({
    name: 'main',
    log: { write: ignore },
    metrics: {
      sent: ignore,
      received: ignore,
      duplicate: ignore,
      rejected: ignore,
      gap: ignore,
      resynced: ignore,
      dropped: ignore,
      conflict: ignore,
    },
    announce: (type, facts) => void announced.push(`${type} ${JSON.stringify(facts)}`),
    changed: ignore,
  });
  return { counts, announced };
}

test('large values of keys go to the store in calls that a slow line carries', async () => {
  const one = await readyStore();
  const sizes: number[] = [];
  const store = Object.assign(Object.create(one.store) as ClusterStore, {
    look: one.store.look.bind(one.store),
    keys: one.store.keys.bind(one.store),
    write(stream: string, entries: readonly SealedEntry[]) {
      sizes.push(total(entries));
      return one.store.write(stream, entries);
    },
  });
  const keys = new TestKeys();
  const stream = new KeyedStream(keys, { nodeId: 'a', seal: one.seal, counts: warnings().counts });
  await stream.begin(store);
  for (let nth = 0; nth < 40; nth += 1) keys.set(`k${nth}`, 'x'.repeat(60_000));
  await stream.send(store);
  expect(keys.changes(1)).toEqual([]);
  expect(Math.max(...sizes)).toBeLessThan(140_000);
  expect(sizes).toHaveLength(20);
});

for (const key of ['k', 'ü'.repeat(1_000), '\u0001'.repeat(1_000), '😀'.repeat(1_000)]) {
  test(`the event of a conflict of the key ${JSON.stringify(key.slice(0, 4))} fits a ring`, () => {
    const { counts, announced } = warnings();
    counts.conflict('di:a', key);
    const payload = announced[0]?.replace('cluster_conflict ', '') ?? '';
    expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(EVENT_LIMITS.payloadBytes);
    const shown = (JSON.parse(payload) as { key: string }).key;
    expect(shown).not.toBe('');
    expect(key.startsWith(shown)).toBe(true);
  });
}

test('a flood of conflicts pushes no other events out of the rings', () => {
  const { counts, announced } = warnings();
  for (let nth = 0; nth < 1_000; nth += 1) counts.conflict('di:a', `k${nth}`);
  expect(announced).toHaveLength(100);
  counts.beat();
  expect(announced.slice(100)).toEqual(['cluster_conflict {"more":900}']);
});

test('a reply that takes longer than the time of a command is read, as long as it arrives', async (t) => {
  const { url, port } = await redis();
  const proxy = await lossyProxy(t, port);
  const namespace = freshNamespace();
  const [a, b] = [url, proxy.url].map((to, nth) => {
    const talk = new Talk(`i${nth}`);
    const { node } = startLightNode(`n${nth}`, { url: to, namespace, timeoutMs: 150 });
    node.add(talk);
    return { node, talk };
  }) as [Talker, Talker];
  await expect.poll(() => [a, b].map(({ node }) => node.status.state)).toEqual(['up', 'up']);
  proxy.slow(1_500_000);
  const words = Array.from({ length: 90 }, (_, nth) => `${nth} ${'x'.repeat(10_000)}`);
  for (const word of words) a.talk.say(word);
  await expect.poll(() => b.talk.heard.length).toBe(words.length);
  expect(b.talk.heard).toEqual(words);
  expect(b.node.status.state).toBe('up');
});
