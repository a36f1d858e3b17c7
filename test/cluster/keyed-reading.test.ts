import { expect, test, vi } from 'vitest';
import type { ClusterStore, KeyState } from '../../src/cluster/index.ts';
import { KeyedStream } from '../../src/cluster/node/keyed-stream.ts';
import { redis } from '../harness/redis.ts';
import { keyEntryOf, TestKeys } from './keys.ts';
import { readyStore, type RedisTestStore, type TestStore } from './stores.ts';

const STREAM = 'di:a';

/** Keys that do something each time that states were applied to them. */
class WatchedKeys extends TestKeys {
  applied: (states: readonly KeyState[]) => void = () => undefined;

  override apply(states: readonly KeyState[], position: number | undefined): readonly string[] {
    const overtaken = super.apply(states, position);
    this.applied(states);
    return overtaken;
  }
}

function streamOf({ seal }: TestStore, keys: TestKeys) {
  const conflicts: string[] = [];
  const ignore = (): void => undefined;
  const counts = {
    sent: ignore,
    received: ignore,
    duplicate: ignore,
    rejected: vi.fn(),
    gap: ignore,
    keysMissed: vi.fn(),
    resynced: ignore,
    dropped: ignore,
    forged: ignore,
    conflict: (_: string, key: string) => void conflicts.push(key),
  };
  return { shared: new KeyedStream(keys, { nodeId: 'gw-b', seal, counts }), conflicts, counts };
}

const namesOf = (one: RedisTestStore): readonly string[] =>
  ['', ':n', ':k', ':x'].map((end) => one.key(STREAM) + end);

/** Remembers a stream as the store has it, and gives the function that puts it back: the store has failed over. */
async function remember(one: RedisTestStore): Promise<() => Promise<void>> {
  const { client } = await redis();
  const names = namesOf(one);
  const dumps = await Promise.all(names.map((name) => client.dumpBuffer(name)));
  return async () => {
    for (const [at, name] of names.entries()) {
      await client.del(name);
      const dump = dumps[at];
      if (dump) await client.restore(name, 0, dump);
    }
  };
}

/** The value of a key in the store. */
async function storedValue({ store }: TestStore): Promise<string | undefined> {
  const { entries } = await store.keys(STREAM);
  return entries[0]?.fields[7];
}

test('a change that is made while all keys are read has seen what this node had before', async () => {
  const one = await readyStore();
  await one.store.write(STREAM, [keyEntryOf(one, { value: 'theirs' })]);
  const keys = new WatchedKeys();
  const { shared, conflicts } = streamOf(one, keys);
  await shared.begin(one.store);
  keys.applied = (states) => {
    if (states.length === 0) return;
    keys.applied = () => undefined;
    keys.set('k', 'mine');
  };
  await shared.receive([{ ...keyEntryOf(one, { value: 'later' }), counter: 9 }], 1);
  expect(shared.position).toBeUndefined();
  await shared.begin(one.store);
  await shared.send(one.store);
  expect([keys.values.get('k'), await storedValue(one), conflicts]).toEqual(['mine', 'mine', []]);
});

test('nothing is sent while all keys are read, since what was read would be older', async () => {
  const one = await readyStore();
  await one.store.write(STREAM, [keyEntryOf(one, { value: 'theirs' })]);
  const keys = new WatchedKeys();
  const { shared } = streamOf(one, keys);
  await shared.begin(one.store);
  await shared.receive([{ ...keyEntryOf(one, { value: 'later' }), counter: 9 }], 1);
  const values = new Set<string | undefined>();
  keys.applied = () => void values.add(keys.values.get('k'));
  const slow = new Proxy(one.store, {
    get(store, name) {
      if (name !== 'keys') return (store[name as keyof ClusterStore] as () => unknown).bind(store);
      return async (stream: string, from?: string) => {
        const part = await store.keys(stream, from);
        keys.set('k', 'mine');
        await shared.send(store);
        return part;
      };
    },
  });
  await shared.begin(slow);
  await shared.send(one.store);
  expect([[...values], await storedValue(one)]).toEqual([['mine'], 'mine']);
});

const losses = [
  { it: 'a later value', then: 'two' },
  { it: 'a deletion', then: undefined },
];
for (const { it, then } of losses)
  test(`${it} that the store has lost is sent again over the own value before it`, async () => {
    const one = await readyStore();
    const keys = new TestKeys();
    const { shared, counts } = streamOf(one, keys);
    await shared.begin(one.store);
    keys.set('k', 'one');
    await shared.send(one.store);
    const restore = await remember(one);
    keys.set('k', then);
    await shared.send(one.store);
    await restore();
    await shared.receive([], 0);
    const [entry] = (await one.store.keys(STREAM)).entries;
    await shared.receive([{ ...(entry as NonNullable<typeof entry>), counter: 7 }], 0);
    await shared.begin(one.store);
    await shared.send(one.store);
    expect(counts.keysMissed).toHaveBeenCalledOnce();
    expect([keys.values.get('k'), await storedValue(one)]).toEqual([then, then]);
  });

test('keys without an end are not read without an end', async () => {
  const one = await readyStore();
  const { shared, counts } = streamOf(one, new TestKeys());
  const junk = { counter: 1, origin: '', incarnation: '', sequence: 0, fields: [], mac: '' };
  const entries = Array.from({ length: 500_000 }, () => junk);
  const store = Object.assign(Object.create(one.store) as ClusterStore, {
    look: one.store.look.bind(one.store),
    keys: () => Promise.resolve({ entries, next: '1' }),
  });
  await expect(shared.begin(store)).rejects.toThrow('it has more than 2000000 keys');
  expect(counts.rejected).toHaveBeenCalledTimes(2_500_000);
});
