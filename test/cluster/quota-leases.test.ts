import { expect, onTestFinished, test, vi } from 'vitest';
import { type QuotaDemand, QuotaLeases, type QuotaVerdict } from '../../src/cluster/subjects/quota-leases.ts';
import type { Counted, Counting } from '../../src/cluster/stores/store.ts';

const DEMAND: QuotaDemand = { zone: 'one', keyHash: 'k', limit: 10, cost: 1, ttlMs: 1_000, isExact: false };
const LEASE_MS = 50;

/** Leases of a store that counts as the script does. */
function leasesOf({ liveNodes = 1 } = {}) {
  const asked: Counting[] = [];
  const store = { used: 0, isLost: false };
  const leases = new QuotaLeases({
    leaseMs: LEASE_MS,
    waitMs: 5_000,
    liveNodes: () => liveNodes,
    take: async (counting): Promise<Counted> => {
      asked.push(counting);
      await Promise.resolve();
      if (store.isLost) throw new Error('gone');
      const left = counting.limit - store.used;
      const change = left < counting.needed ? 0 : Math.min(left, counting.needed + counting.more);
      store.used += change;
      return { requests: Math.max(0, change), used: store.used };
    },
  });
  const count = (more: Partial<QuotaDemand> = {}): Promise<QuotaVerdict> =>
    leases.count({ ...DEMAND, ...more });
  const giveBack = (more: Partial<QuotaDemand>) => leases.giveBack({ ...DEMAND, ...more });
  return { asked, store, count, giveBack };
}

const verdicts = async (all: readonly Promise<QuotaVerdict>[]): Promise<string[]> =>
  (await Promise.all(all)).map((one) => ('left' in one ? `${one.verdict} ${one.left}` : one.verdict));

test('requests count until the quota is used up, and refusals are repeated without asking', async () => {
  const { asked, count } = leasesOf();
  const found: string[] = [];
  for (let nth = 0; nth < 12; nth += 1) found.push(...(await verdicts([count()])));
  expect(found).toEqual([
    ...Array.from({ length: 10 }, (_, nth) => `counted ${9 - nth}`),
    'refused 0',
    'refused 0',
  ]);
  expect(asked).toHaveLength(10);
});

test('requests that wait at one time are asked for together', async () => {
  const { asked, count } = leasesOf();
  const all = await verdicts(Array.from({ length: 12 }, () => count()));
  expect(all.filter((one) => one.startsWith('counted'))).toHaveLength(10);
  expect(asked.map(({ needed, more }) => needed + more)).toEqual([1, 11]);
});

test('a costly request takes all or nothing, and a cheaper one may still pass', async () => {
  const { store, count } = leasesOf();
  expect(await verdicts([count({ cost: 8 })])).toEqual(['counted 2']);
  expect(await verdicts([count({ cost: 3 })])).toEqual(['refused 2']);
  expect(store.used).toBe(8);
  expect(await verdicts([count({ cost: 2 })])).toEqual(['counted 0']);
  expect(await verdicts([count({ cost: 0 })])).toEqual(['counted 0']);
});

/** How many requests are asked for after a lease's time in which more came than the gateway may hold, by a clock that stands still. */
async function askedAfter(
  parts: ReturnType<typeof leasesOf>,
  more: Pick<QuotaDemand, 'limit'> & Partial<QuotaDemand>,
): Promise<number> {
  let nowMs = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  await Promise.all(Array.from({ length: more.limit / 4 }, () => parts.count(more)));
  nowMs += LEASE_MS;
  await parts.count(more);
  const { needed = 0, more: ahead = 0 } = parts.asked.at(-1) ?? {};
  return needed + ahead;
}

test('a gateway holds at most its share of a two-hundredth part of the quota ahead', async () => {
  expect(await askedAfter(leasesOf({ liveNodes: 2 }), { limit: 8_000 })).toBe(1 + 20);
  expect(await askedAfter(leasesOf({ liveNodes: 2 }), { limit: 8_000, isExact: true })).toBe(1);
  expect(await askedAfter(leasesOf({ liveNodes: 2 }), { limit: 300 })).toBe(1);
});

test('what is given back is in the store again, beyond what the gateway may hold', async () => {
  const { store, count, giveBack } = leasesOf();
  expect(await verdicts([count({ cost: 10 })])).toEqual(['counted 0']);
  await giveBack({ cost: 4 });
  expect(store.used).toBe(6);
  expect(await verdicts([count({ cost: 5 }), count({ cost: 4 })])).toEqual(['refused 4', 'counted 0']);
  const large = leasesOf();
  await large.count({ limit: 1_000, cost: 10 });
  await large.giveBack({ limit: 1_000, cost: 7 });
  expect(large.store.used).toBe(8);
  expect(await verdicts([large.count({ limit: 1_000, cost: 5 })])).toEqual(['counted 992']);
  expect(large.asked).toHaveLength(2);
});

test('without the store nothing is decided', async () => {
  const { store, count } = leasesOf();
  store.isLost = true;
  expect(await verdicts([count(), count()])).toEqual(['lost', 'lost']);
});
