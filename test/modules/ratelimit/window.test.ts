import { expect, test } from 'vitest';
import { take } from '../../../src/modules/ratelimit/window.ts';
import { createZone, openRequestRates } from '../../../src/zone/index.ts';

/** The smallest zone. */
const zone = () => createZone({ name: 'r', kind: 'request limit', sizeBytes: 32_768, key: 'r' });

const cases = [
  { it: 'admits as many as the limit', cost: 1, limit: 2, at: [0, 10, 20], says: 'allow allow deny' },
  {
    it: 'begins again a second after the first request, and does not count refused requests',
    cost: 1,
    limit: 1,
    at: [500, 600, 1499, 1500, 1600, 2500],
    says: 'allow deny deny allow deny allow',
  },
  { it: 'admits a cost that fits', cost: 3, limit: 7, at: [0, 0, 0], says: 'allow allow deny' },
  { it: 'admits no cost beyond the limit', cost: 8, limit: 7, at: [0, 5000], says: 'deny deny' },
  { it: 'admits what costs nothing', cost: 0, limit: 1, at: [0, 0, 0], says: 'allow allow allow' },
];
for (const { it, cost, limit, at, says } of cases) {
  test(`a window ${it}`, () => {
    const rates = openRequestRates(zone(), 1);
    expect(at.map((ms) => take(rates, { key: 'k', cost, limit }, ms)).join(' ')).toBe(says);
  });
}

test('keys whose second has not ended are never dropped for others, and those whose second has ended are', () => {
  const rates = openRequestRates(zone(), 1);
  const ask = (key: string, ms: number): string => take(rates, { key, cost: 1, limit: 1 }, ms);
  let keys = 0;
  while (ask(`k${keys}`, 0) === 'allow') keys++;
  expect(keys).toBeGreaterThan(100);
  expect([ask('new', 999), ask('k0', 999), ask(`k${keys - 1}`, 999)]).toEqual(['full', 'deny', 'deny']);
  expect([ask('new', 1000), ask('new', 1999)]).toEqual(['allow', 'deny']);
});
