import { expect, test } from 'vitest';
import { type OpenZone, restoreState } from '../../src/master/upgrade/carried-state.ts';
import { createZone, type DictionaryDeclaration, openDictionary } from '../../src/zone/index.ts';

const DECLARATION: DictionaryDeclaration = { name: 'd', kind: 'dictionary', sizeBytes: 1_048_576 };

interface Restored {
  readonly entries: number;
  readonly timeouts: readonly number[];
  readonly lines: readonly string[];
}

/**
 * Restores from parts, each with the time that it takes; the last one never comes. The clock moves by that, and by `stepMs`
 * whenever it is looked at.
 */
async function restored(
  parts: readonly (readonly [ms: number, part: string])[],
  stepMs = 0,
): Promise<Restored> {
  const zone: OpenZone = [DECLARATION, createZone(DECLARATION)];
  const left = [...parts];
  const timeouts: number[] = [];
  const lines: string[] = [];
  let clockMs = 0;
  const ask = (timeoutMs: number): Promise<string> => {
    timeouts.push(timeoutMs);
    const [ms, part] = left.shift() ?? [timeoutMs];
    clockMs += ms;
    return part === undefined ? Promise.reject(new Error('no answer')) : Promise.resolve(part);
  };
  const nowMs = (): number => (clockMs += stepMs);
  await restoreState([zone], { write: (_level, line) => void lines.push(line) }, { ask, nowMs });
  return { entries: openDictionary(zone[1], 1).facts().entries, timeouts, lines };
}

const pieceOf = (key: string, value: string) => ({ kind: 'dictionary', zone: 'd', content: [key, value, 0] });
const partOf = (...keys: readonly string[]): string => JSON.stringify(keys.map((key) => pieceOf(key, 'sv')));
const refused = (reason: string): string => `a part of the state was not carried over: ${reason}`;
const carried = (count: number): string => `${count} entries, events and sets of members were carried over`;

test('a state comes in parts until an empty one', async () => {
  expect(
    await restored([
      [0, partOf('a', 'b')],
      [0, partOf('c')],
      [0, ''],
    ]),
  ).toEqual({ entries: 3, timeouts: [5_000, 5_000, 5_000], lines: [carried(3)] });
});

test('all parts of a state have 5 s together', async () => {
  expect(await restored([[4_600, partOf('a')]])).toEqual({
    entries: 1,
    timeouts: [5_000, 400],
    lines: [carried(1), refused('no answer')],
  });
});

test('a restoration ends within a part when its time is over', async () => {
  const keys = Array.from({ length: 2_000 }, (_, n) => `k${n}`);
  const { entries, lines } = await restored([[4_000, partOf(...keys)]], 1);
  expect(entries).toBeGreaterThan(0);
  expect(entries).toBeLessThan(1_000);
  expect(lines).toEqual([carried(entries), refused('it takes longer than 5 s')]);
});

test('a part that is too large is not read', async () => {
  const part = partOf('a').padEnd(4 * 1_048_576 + 1);
  expect((await restored([[0, part]])).lines).toEqual([refused('a part is too large')]);
});

test('a piece that is too large is refused, and the others are not', async () => {
  const large = JSON.stringify([pieceOf('a', 's'.padEnd(3_800_000, 'x')), pieceOf('b', 'sv')]);
  expect(
    await restored([
      [0, large],
      [0, ''],
    ]),
  ).toMatchObject({ entries: 1, lines: [carried(1), refused('zone "d": a piece is too large')] });
});

const NESTED = 1_000_000;

const odd: readonly { readonly it: string; readonly piece: string; readonly says: string }[] = [
  { it: 'null', piece: 'null', says: 'this program does not know the kind that is malformed' },
  {
    it: 'an object as its kind',
    piece: '{"kind":{"toString":1}}',
    says: 'this program does not know the kind that is malformed',
  },
  {
    it: 'a content of many levels',
    piece: `{"kind":"dictionary","zone":"d","content":${'['.repeat(NESTED)}${']'.repeat(NESTED)}}`,
    says: 'zone "d": an entry is malformed',
  },
  {
    it: 'a secret as its key',
    piece: JSON.stringify(pieceOf('secret'.repeat(20_000), 'sv')),
    says: 'zone "d": an entry is refused: bad key',
  },
];

for (const { it, piece, says } of odd) {
  test(`a piece with ${it} is refused, and the others are not`, async () => {
    const part = `[${piece},${JSON.stringify(pieceOf('b', 'sv'))}]`;
    expect(
      await restored([
        [0, part],
        [0, ''],
      ]),
    ).toMatchObject({ entries: 1, lines: [carried(1), refused(says)] });
  });
}
