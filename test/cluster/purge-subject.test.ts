import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sealEntry } from '../../src/cluster/index.ts';
import { KeptPosition } from '../../src/cluster/subjects/kept-position.ts';
import { PurgeQueue, type SharedCaches } from '../../src/cluster/subjects/purge-queue.ts';
import { PurgeSubject } from '../../src/cluster/subjects/purge-subject.ts';
import type { Owner } from '../harness/owner.ts';
import { redis } from '../harness/redis.ts';
import { directoryWith } from '../cli/command.ts';
import { startLightNode } from './keys.ts';
import { readyStore } from './stores.ts';

/** What the caches `a` and `b` were told to purge, and whether they are loaded. */
class Caches {
  readonly purged: string[] = [];
  mostAtOnce = 0;
  isLoaded = true;
  #running = 0;

  of(zone: string, empties = true): SharedCaches {
    const caches = new Map(['a', 'b'].map((name) => [name, this.#cache(name)]));
    return { caches, zones: new Set([zone]), empties };
  }

  #cache(name: string) {
    const isLoaded = (): boolean => this.isLoaded;
    return {
      index: {
        get isLoaded(): boolean {
          return isLoaded();
        },
      },
      purgeAll: async ({ kind, texts }: { kind: string; texts: readonly string[] }): Promise<void> => {
        this.#running += 1;
        this.mostAtOnce = Math.max(this.mostAtOnce, this.#running);
        const shown = texts.length > 5 ? String(texts.length) : JSON.stringify(texts);
        this.purged.push(`${name} ${kind} ${shown}`);
        await new Promise((resolve) => setImmediate(resolve));
        this.#running -= 1;
      },
    };
  }
}

const log = { write: () => undefined };

function subjectOf(t: Owner, { shared, position = '' }: { shared: SharedCaches[]; position?: string }) {
  const directory = directoryWith(t, position === '' ? {} : { purges: position });
  const file = join(directory, 'purges');
  const kept = new KeptPosition(directory, 'purges', log);
  const subject = new PurgeSubject(new PurgeQueue({ shared: () => shared, position: kept }));
  return { subject, kept: () => readFileSync(file, 'utf8') };
}

/** An entry of another node. */
const entry = (counter: number, kind: string, ...texts: string[]) => ({
  origin: 'gw-b',
  sequence: counter,
  counter,
  fields: ['zone', 'a', 'kind', kind, 'texts', JSON.stringify(texts)],
});

const gaps = [
  {
    it: 'the caches of all locations',
    zones: { a: true, b: true },
    emptied: ['a prefix [""]', 'b prefix [""]'],
  },
  { it: 'no cache of one that keeps them', zones: { a: true, b: false }, emptied: ['a prefix [""]'] },
];
for (const { it, zones, emptied } of gaps) {
  test(`a gap in the purges empties ${it}`, async (t) => {
    const caches = new Caches();
    const shared = Object.entries(zones).map(([zone, empties]) => caches.of(zone, empties));
    const { subject } = subjectOf(t, { shared: [...shared, ...shared], position: '1 0\n' });
    subject.tellGap();
    await subject.close();
    expect(caches.purged).toEqual(emptied);
  });
}

test('many purges at once are few walks through a cache, one after another, each text once', async (t) => {
  const caches = new Caches();
  const { subject, kept } = subjectOf(t, { shared: [caches.of('a')], position: '1 0\n' });
  const keys = Array.from({ length: 2_500 }, (_, nth) => entry(nth + 2, 'key', `/${nth}`, '/same'));
  expect(subject.apply([...keys, entry(2_502, 'tag', 'news')], 2_502)).toBe(true);
  expect(subject.apply([entry(2_503, 'prefix', '/x'), entry(2_504, 'prefix', '/y')], 2_504)).toBe(true);
  expect(subject.position).toBe(2_504);
  await subject.close();
  const walks = ['a key 1000', 'a key 1000', 'a key 501', 'a tag ["news"]', 'a prefix ["/x","/y"]'];
  expect(caches.purged).toEqual(walks);
  expect(caches.mostAtOnce).toBe(1);
  expect(kept()).toBe('2504 0\n');
});

test('purges that come faster than they are done wait in the store', async (t) => {
  const { subject } = subjectOf(t, { shared: [new Caches().of('a')], position: '1 0\n' });
  const large = (counter: number) => entry(counter, 'key', 'x'.repeat(100_000) + String(counter));
  let taken = 1;
  while (taken < 100 && subject.apply([large(taken + 1)], taken + 1)) taken += 1;
  expect(taken).toBeGreaterThan(10);
  expect(taken).toBeLessThan(100);
  expect(subject.position).toBe(taken);
  await subject.close();
  expect(subject.apply([large(taken + 1)], taken + 1)).toBe(true);
});

test('the next process does a purge again that came before the cache was loaded', async (t) => {
  const caches = new Caches();
  caches.isLoaded = false;
  const { subject, kept } = subjectOf(t, { shared: [caches.of('a')], position: '1 0\n' });
  subject.apply([entry(2, 'key', '/one')], 2);
  await expect.poll(() => caches.purged).toEqual(['a key ["/one"]']);
  await subject.close();
  expect(kept()).toBe('1 0\n');
  caches.isLoaded = true;
  subject.apply([entry(3, 'key', '/two')], 3);
  await subject.close();
  expect(kept()).toBe('3 0\n');
});

const starts = [
  { it: 'without a position', position: '', at: 7, purged: ['a prefix [""]'] },
  {
    it: 'with a position that cannot be read',
    position: '12345678901234567 0\n',
    at: 7,
    purged: ['a prefix [""]'],
  },
  { it: 'before anything was purged', position: '', at: 0, purged: [] },
  { it: 'where it was', position: '7 0\n', at: 7, purged: [] },
];
for (const { it, position, at, purged } of starts) {
  test(`a node that begins ${it} empties ${purged.length === 0 ? 'nothing' : 'its caches'}`, async (t) => {
    const caches = new Caches();
    const { subject, kept } = subjectOf(t, { shared: [caches.of('a')], position });
    subject.apply([], at);
    await subject.close();
    expect(caches.purged).toEqual(purged);
    expect(kept()).toBe(`${at} 0\n`);
  });
}

const lists = [
  { it: 'of everything', texts: [''], parts: [['']] },
  { it: 'that is short', texts: ['/a', '/b'], parts: [['/a', '/b']] },
  { it: 'of large texts', texts: ['a', 'b', 'c'].map((text) => text.repeat(9_000)), parts: 3 },
];
for (const { it, texts, parts } of lists) {
  test(`a purge ${it} is told to the other nodes`, async (t) => {
    const { subject } = subjectOf(t, { shared: [] });
    subject.add({ zone: 'a', kind: 'prefix', texts });
    const told = subject.take(10).entries.map(({ fields }) => JSON.parse(fields[5] ?? '') as string[]);
    expect(typeof parts === 'number' ? told.length : told).toEqual(parts);
    expect(told.flat()).toEqual(texts);
    await subject.close();
  });
}

test('a store that was emptied while the gateway was away empties its caches', async (t) => {
  const { url, client } = await redis();
  const { store, seal, key } = await readyStore();
  const { namespace } = seal;
  const caches = new Caches();
  const directory = directoryWith(t, {});
  const purge = (...paths: readonly string[]): Promise<unknown> =>
    store.append(
      'pu',
      paths.map((path) =>
        sealEntry(seal, 'pu', { ...entry((sequence += 1), 'key', path), incarnation: 'i' }),
      ),
    );
  let sequence = 0;
  /** Runs a gateway until its caches are empty and it has read so many entries. */
  const run = async (counter: number): Promise<void> => {
    const kept = new KeptPosition(directory, 'purges', log);
    const subject = new PurgeSubject(
      new PurgeQueue({ shared: () => [caches.of('a', true)], position: kept }),
    );
    const { node, close } = startLightNode('gw', { url, namespace });
    node.add(subject);
    await expect.poll(() => kept.reached).toEqual({ counter, birth: expect.toSatisfy((birth) => birth > 0) });
    expect(caches.purged).toContain('a prefix [""]');
    await close();
    await subject.close();
  };
  await purge('/before');
  await run(1);
  expect(readFileSync(join(directory, 'purges'), 'utf8')).toMatch(/^1 [1-9]\d+\n$/);
  caches.purged.length = 0;
  await client.del(key('pu'), `${key('pu')}:n`);
  await purge('/missed', '/later');
  await run(2);
  expect(readFileSync(join(directory, 'purges'), 'utf8')).toMatch(/^2 [1-9]\d+\n$/);
});
