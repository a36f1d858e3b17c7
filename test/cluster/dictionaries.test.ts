import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { DictionarySubject, MAX_SHARED_BYTES } from '../../src/cluster/subjects/dictionary-subject.ts';
import { MAX_KEYED_BYTES } from '../../src/cluster/stores/keyed-fields.ts';
import {
  createZone,
  type Dictionary,
  type DictionaryValue,
  openDictionary,
  zoneIdentity,
} from '../../src/zone/index.ts';
import { redis, type TestRedis } from '../harness/redis.ts';
import { startLightNode, type TestNode } from './keys.ts';
import { freshNamespace } from './stores.ts';

const STORE = 1;

interface Gateway extends TestNode {
  /** As a worker sees it that does not run the node. */
  readonly dictionary: Dictionary;
  /** How often values had no room. */
  readonly unfit: { count: number };
}

interface Cluster {
  readonly server: TestRedis;
  readonly start: (id: string, memory?: SharedArrayBuffer) => Gateway;
}

const memoryOf = (sizeBytes = 4 << 20): SharedArrayBuffer =>
  createZone({ name: 'flags', kind: 'dictionary', sizeBytes });

async function cluster(...options: readonly string[]): Promise<Cluster> {
  const server = await redis(...options);
  const namespace = freshNamespace();
  return {
    server,
    start(id, memory = memoryOf()) {
      const { shared: entries } = openDictionary(memory, 1);
      entries.share(STORE, MAX_SHARED_BYTES);
      const started = startLightNode(id, { url: server.url, namespace });
      const unfit = { count: 0 };
      const subject = new DictionarySubject({
        zone: 'flags',
        entries,
        identity: zoneIdentity(memory),
        digest: '',
        unfit: () => void (unfit.count += 1),
      });
      started.node.addKeyed(subject);
      return { ...started, dictionary: openDictionary(memory, 2), unfit };
    },
  };
}

const isUp = ({ node }: Gateway): boolean => node.status.state === 'up';

async function pair(
  ...options: readonly string[]
): Promise<Cluster & { readonly a: Gateway; readonly b: Gateway }> {
  const one = await cluster(...options);
  const [a, b] = [one.start('a'), one.start('b')];
  await expect.poll(() => isUp(a) && isUp(b)).toBe(true);
  return { ...one, a, b };
}

type Values = Readonly<Record<string, DictionaryValue>>;

const valuesOf = ({ dictionary }: Gateway): Values =>
  Object.fromEntries(dictionary.list(Infinity).map(({ key, value }) => [key, value]));

/** All gateways come to have these values. */
async function expectValues(gateways: readonly Gateway[], values: Values): Promise<void> {
  await expect.poll(() => gateways.map(valuesOf)).toEqual(gateways.map(() => values));
}

function setAll({ dictionary }: Gateway, values: Values): void {
  for (const [key, value] of Object.entries(values)) dictionary.set(key, value);
}

const conflictsOf = (gateways: readonly Gateway[]): number =>
  gateways.reduce((sum, { counts }) => sum + (counts['conflict'] ?? 0), 0);

test('a store that was emptied while another worker took over the node gets everything again', async () => {
  const { a, b, server, start } = await pair();
  setAll(a, { x: 1, y: 2 });
  await expectValues([a, b], { x: 1, y: 2 });
  await a.close();
  const memory = memoryOf();
  const former = start('c', memory);
  await expectValues([former], { x: 1, y: 2 });
  await Promise.all([former.close(), b.close()]);
  await server.client.flushall();
  const other = start('d');
  await expect.poll(() => isUp(other)).toBe(true);
  setAll(other, { y: 3 });
  await expect.poll(() => other.counts['sent']).toBe(1);
  await expectValues([start('c', memory), other], { x: 1, y: 3 });
});

test('values of all types are the same on all gateways, and what one deletes is gone on all', async () => {
  const { a, b } = await pair();
  const values: Values = {
    text: 'ü "quoted"\0\r\n',
    empty: '',
    like: 'n1',
    zero: 0,
    negative: -0,
    large: 1.7976931348623157e308,
    small: 5e-324,
    third: 1 / 3,
    none: Number.NaN,
    endless: -Infinity,
    yes: true,
    no: false,
    long: 'x'.repeat(MAX_SHARED_BYTES - 4),
    ['k'.repeat(60_000)]: 1,
  };
  setAll(a, values);
  await expectValues([a, b], values);
  expect(Object.is(b.dictionary.get('negative'), -0)).toBe(true);
  for (const key of Object.keys(values)) expect(b.dictionary.delete(key)).toBe(true);
  await expectValues([a, b], {});
  expect([a.counts, b.counts]).toMatchObject([{ sent: 14 }, { sent: 14 }]);
  expect([...a.log, ...b.log]).toEqual([]);
  expect(MAX_SHARED_BYTES).toBeLessThan(MAX_KEYED_BYTES);
});

test('of writes at the same time one stays on all gateways, and each of the others is told', async () => {
  const { a, b } = await pair();
  for (let nth = 0; nth < 20; nth += 1)
    for (const one of [a, b]) one.dictionary.set(`k${nth}`, one.node.nodeId);
  await expect.poll(() => conflictsOf([a, b])).toBe(20);
  // A gateway is told that its change was superseded before it has the other one.
  await expect.poll(() => isDeepStrictEqual(valuesOf(a), valuesOf(b))).toBe(true);
  expect(Object.keys(valuesOf(b))).toHaveLength(20);
  expect([...a.events, ...b.events].toSorted()[0]).toBe('cluster_conflict {"stream":"di:flags","key":"k0"}');
});

test('what a counter adds up here is not set back by what comes back of it', async () => {
  const { a, b } = await pair();
  for (let nth = 1; nth <= 300; nth += 1) {
    expect(a.dictionary.incr('n', 1, { init: 0 })).toBe(nth);
    if (nth % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await expectValues([a, b], { n: 300 });
});

test('while the store hangs gateways go on, and what they wrote is sent then, unless it was overtaken', async () => {
  const { a, b, server } = await pair('--appendonly', 'no');
  setAll(a, { k: 'first', gone: 1 });
  await expectValues([a, b], { k: 'first', gone: 1 });
  server.signal('SIGSTOP');
  await expect.poll(() => isUp(a) || isUp(b)).toBe(false);
  a.dictionary.set('k', 'a');
  b.dictionary.set('k', 'b');
  b.dictionary.set('mine', true);
  b.dictionary.set('short', 1, 50);
  a.dictionary.delete('gone');
  await expect.poll(() => b.dictionary.get('short')).toBeUndefined();
  expect([valuesOf(a), valuesOf(b)]).toEqual([{ k: 'a' }, { k: 'b', gone: 1, mine: true }]);
  server.signal('SIGCONT');
  await expect.poll(() => conflictsOf([a, b])).toBe(1);
  const [late, first] = a.counts['conflict'] ? [a, b] : [b, a];
  await expectValues([a, b], { k: first.node.nodeId, mine: true });
  expect(late.log).toContain(
    'warn: cluster "main": the change of "k" in "di:flags" was given up: another node had changed it first',
  );
});

test('an entry expires on all gateways, a lifetime goes on, and a new one replaces it', async () => {
  const { a, b } = await pair();
  a.dictionary.set('short', 1, 300);
  a.dictionary.set('long', 1, 60_000);
  a.dictionary.set('kept', 1, 300);
  await expect.poll(() => b.dictionary.get('kept')).toBe(1);
  b.dictionary.set('kept', 2, 0);
  const leftMs = b.dictionary.entry('long')?.ttlMs ?? 0;
  expect(leftMs).toBeGreaterThan(30_000);
  expect(leftMs).toBeLessThanOrEqual(60_000);
  await expectValues([a, b], { long: 1, kept: 2 });
});

test('a gateway that starts, or was away, has what the others have made meanwhile', async () => {
  const { start } = await cluster();
  const a = start('a');
  await expect.poll(() => isUp(a)).toBe(true);
  setAll(a, { kept: 1, changed: 'before', deleted: 1 });
  const memory = memoryOf();
  const b = start('b', memory);
  await expectValues([b], { kept: 1, changed: 'before', deleted: 1 });
  await b.close();
  a.dictionary.delete('deleted');
  a.dictionary.set('changed', 'after');
  b.dictionary.set('made', 'away');
  const again = start('b', memory);
  await expectValues([a, again], { kept: 1, changed: 'after', made: 'away' });
  expect(conflictsOf([a, again])).toBe(0);
});

test('ten thousand entries that were there before a dictionary is shared become those of all gateways', async () => {
  const { start } = await cluster();
  const memory = memoryOf();
  const before = openDictionary(memory, 2);
  for (let nth = 0; nth < 10_000; nth += 1) before.set(`k${nth}`, nth);
  const a = start('a', memory);
  await expect.poll(() => a.counts['sent']).toBe(10_000);
  const others = memoryOf();
  openDictionary(others, 2).set('k7', 'overtaken');
  const b = start('b', others);
  await expect.poll(() => b.dictionary.facts().entries).toBe(10_000);
  await expectValues([b], valuesOf(a));
  expect([b.counts['conflict'], b.dictionary.get('k7')]).toEqual([1, 7]);
}, 30_000);

test('a dictionary that has no room for what others have set tells so, and goes on', async () => {
  const { a, start } = await pair();
  const small = start('c', memoryOf(4096));
  await expect.poll(() => isUp(small)).toBe(true);
  a.dictionary.set('large', 'x'.repeat(5_000));
  a.dictionary.set('fits', 1);
  await expectValues([small], { fits: 1 });
  expect(small.unfit.count).toBe(1);
  small.dictionary.set('mine', 1);
  await expect.poll(() => a.dictionary.get('mine')).toBe(1);
});

const garbage = ['x1', 'n', 'n01', 'n1 ', 'nx', 'b2', 'b', '', '1', 'n0x10'];
test('entries with values that are none are refused', () => {
  const { shared: entries } = openDictionary(memoryOf(4096), 1);
  const subject = new DictionarySubject({
    zone: 'z',
    entries,
    identity: '',
    digest: '',
    unfit: () => undefined,
  });
  const accepted = garbage.filter((value) => subject.accepts({ key: 'k', value, seen: 0, ttlMs: 0 }));
  expect(accepted).toEqual([]);
  expect(subject.accepts({ key: 'k', value: undefined, seen: 0, ttlMs: 0 })).toBe(true);
});
