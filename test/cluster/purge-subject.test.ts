import { expect, test } from 'vitest';
import { KeptPosition } from '../../src/cluster/kept-position.ts';
import { PurgeSubject, type SharedCaches } from '../../src/cluster/purge-subject.ts';
import { directoryWith } from '../cli/command.ts';

/** What a location shares of the caches `a` and `b`, which tell when they are emptied. */
function sharing(zone: string, empties: boolean, emptied: string[]): SharedCaches {
  const cache = (name: string) => ({
    purgeAll: ({ kind, texts }: { kind: string; texts: readonly string[] }) => {
      emptied.push(`${name} ${kind} ${JSON.stringify(texts)}`);
      return Promise.resolve();
    },
  });
  const caches = new Map(['a', 'b'].map((name) => [name, cache(name)]));
  return { caches, zones: new Set([zone]), empties };
}

const cases = [
  {
    it: 'the caches of all locations',
    zones: { a: true, b: true },
    emptied: ['a prefix [""]', 'b prefix [""]'],
  },
  { it: 'no cache of one that keeps them', zones: { a: true, b: false }, emptied: ['a prefix [""]'] },
];

for (const { it, zones, emptied: expected } of cases) {
  test(`a gap in the purges empties ${it}`, async (t) => {
    const emptied: string[] = [];
    const shared = Object.entries(zones).map(([zone, empties]) => sharing(zone, empties, emptied));
    const position = new KeptPosition(directoryWith(t, {}), 'purges', { write: () => undefined });
    const subject = new PurgeSubject({ shared: () => [...shared, ...shared], position });
    subject.tellGap();
    await subject.close();
    expect(emptied).toEqual(expected);
  });
}
