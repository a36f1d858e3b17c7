import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Bucket, LimitLeases, type Verdict } from '../../src/cluster/subjects/limit-leases.ts';
import type { Admitting, Grant } from '../../src/cluster/stores/store.ts';

// Periods are as long as a test says, however busy the machine is.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const BUCKET: Bucket = {
  zone: 'one',
  keyHash: 'k',
  milliRequestsPerSecond: 100_000,
  burst: 40_000,
  isExact: false,
};

interface Asked extends Admitting {
  grant(requests: number, excess?: number): void;
  fail(): void;
}

/** Leases of a store whose replies the test gives. */
function leasesOf({ leaseMs = 200, waitMs = 5_000, liveNodes = 1 } = {}) {
  const asked: Asked[] = [];
  const leases = new LimitLeases({
    leaseMs,
    waitMs,
    liveNodes: () => liveNodes,
    take: (admitting) =>
      new Promise<Grant>((resolve, reject) => {
        const grant = (requests: number, excess = 0): void => resolve({ requests, excess });
        asked.push({ ...admitting, grant, fail: () => reject(new Error('gone')) });
      }),
  });
  const admit = (count: number, bucket = BUCKET): Promise<Verdict>[] =>
    Array.from({ length: count }, () => leases.admit(bucket));
  return { asked, admit };
}

const verdictsOf = async (all: readonly Promise<Verdict>[]): Promise<string[]> =>
  (await Promise.all(all)).map(({ verdict }) => verdict);

/** Lets promises go on that are settled. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Makes the leases expect `count` requests, none of which is left over. */
async function accustom({ asked, admit }: ReturnType<typeof leasesOf>, count: number, leaseMs = 200) {
  const all = admit(count);
  asked.at(-1)?.grant(1);
  await turn();
  asked.at(-1)?.grant(count - 1);
  await Promise.all(all);
  vi.advanceTimersByTime(leaseMs);
}

test('requests that wait for the same key are asked for together', async () => {
  const { asked, admit } = leasesOf();
  const all = admit(4);
  expect(asked.map(({ requests }) => requests)).toEqual([1]);
  asked[0]?.grant(1);
  await turn();
  expect(asked.map(({ requests }) => requests)).toEqual([1, 3]);
  asked[1]?.grant(3, 1_000);
  expect(await verdictsOf(all)).toEqual(Array(4).fill('counted'));
  const excesses = (await Promise.all(all)).map((found) => ('excess' in found ? found.excess : undefined));
  expect(excesses).toEqual([0, 1_000, 2_000, 3_000]);
});

test('what was needed lately is taken ahead, and lapses after the lease', async () => {
  const one = leasesOf();
  await accustom(one, 10);
  const { asked, admit } = one;
  const [first] = admit(1);
  const { requests = 0 } = asked[2] ?? {};
  expect(requests).toBe(10);
  asked[2]?.grant(requests);
  await first;
  expect(await verdictsOf(admit(requests - 1))).toEqual(Array(requests - 1).fill('counted'));
  expect(asked).toHaveLength(3);
  void admit(1);
  expect(asked).toHaveLength(4);
  asked[3]?.grant(5);
  await turn();
  vi.advanceTimersByTime(210);
  void admit(1);
  expect(asked).toHaveLength(5);
});

const exact = [
  { it: 'below 10r/s', bucket: { ...BUCKET, milliRequestsPerSecond: 9_999 } },
  { it: 'if the limit is exact', bucket: { ...BUCKET, isExact: true } },
  { it: 'without a burst', bucket: { ...BUCKET, burst: 0 } },
];
for (const { it, bucket } of exact) {
  test(`nothing is taken ahead ${it}`, async () => {
    const { asked, admit } = leasesOf({ leaseMs: 50 });
    for (let nth = 0; nth < 3; nth += 1) {
      for (let one = 0; one < 10; one += 1) {
        const [found] = admit(1, bucket);
        await turn();
        asked.at(-1)?.grant(1);
        await found;
      }
      vi.advanceTimersByTime(50);
    }
    expect(asked.map(({ requests }) => requests)).toEqual(Array(30).fill(1));
  });
}

test('all gateways together take no more than half of the burst ahead', async () => {
  const one = leasesOf({ liveNodes: 5 });
  await accustom(one, 200);
  void one.admit(1);
  expect(one.asked.at(-1)?.requests).toBe(4);
});

test('a refusal is known until one request would fit', async () => {
  const { asked, admit } = leasesOf();
  const [first] = admit(1);
  asked[0]?.grant(0, 50_000);
  expect(await first).toEqual({ verdict: 'refused', excess: 50_000 });
  const found = await Promise.all(admit(100));
  expect(new Set(found.map(({ verdict }) => verdict))).toEqual(new Set(['refused']));
  expect(asked).toHaveLength(1);
  // 10 requests beyond the burst, at 100r/s.
  vi.advanceTimersByTime(110);
  void admit(1);
  expect(asked).toHaveLength(2);
});

test('if the bucket can take some of those that wait, the others are refused without another call', async () => {
  const { asked, admit } = leasesOf();
  const [first] = admit(1);
  asked[0]?.grant(1, 38_000);
  await first;
  await turn();
  const all = admit(4);
  asked[1]?.grant(1, 39_500);
  await turn();
  asked[2]?.grant(1, 40_000);
  expect(await verdictsOf(all)).toEqual(['counted', 'counted', 'refused', 'refused']);
  expect(await Promise.all(all.slice(2))).toEqual(Array(2).fill({ verdict: 'refused', excess: 41_000 }));
  expect(asked).toHaveLength(3);
});

test('who waits for too long is told so, and what comes then serves others', async () => {
  const { asked, admit } = leasesOf({ waitMs: 20 });
  expect(await verdictsOf(admit(3))).toEqual(Array(3).fill('lost'));
  asked[0]?.grant(1);
  await turn();
  expect(asked).toHaveLength(1);
  expect(await verdictsOf(admit(1))).toEqual(['counted']);
});

test('a call that fails is lost for all that wait', async () => {
  const { asked, admit } = leasesOf();
  const all = admit(3);
  asked[0]?.fail();
  expect(await verdictsOf(all)).toEqual(Array(3).fill('lost'));
  expect(asked).toHaveLength(1);
  void admit(1);
  expect(asked).toHaveLength(2);
});

test('clients who choose ever new keys do not take all that a connection can carry', async () => {
  const { asked, admit } = leasesOf();
  const all = Array.from({ length: 600 }, (_, nth) => admit(1, { ...BUCKET, keyHash: `k${nth}` })).flat();
  await turn();
  expect(asked).toHaveLength(500);
  expect(await verdictsOf(all.slice(500))).toEqual(Array(100).fill('lost'));
  for (const { grant } of asked) grant(1);
  expect(await verdictsOf(all.slice(0, 500))).toEqual(Array(500).fill('counted'));
  void admit(1, { ...BUCKET, keyHash: 'behind' });
  expect(asked).toHaveLength(501);
});

test('a refusal is remembered for a minute at most, however full the bucket is said to be', async () => {
  const { asked, admit } = leasesOf();
  const [first] = admit(1);
  asked[0]?.grant(0, Number.MAX_SAFE_INTEGER);
  await first;
  vi.advanceTimersByTime(59_000);
  expect(await verdictsOf(admit(1))).toEqual(['refused']);
  vi.advanceTimersByTime(1_000);
  void admit(1);
  expect(asked).toHaveLength(2);
});

test('each key, and each burst of a zone, has its own lease', () => {
  const { asked, admit } = leasesOf();
  for (const bucket of [
    BUCKET,
    { ...BUCKET, keyHash: 'l' },
    { ...BUCKET, burst: 1_000 },
    { ...BUCKET, zone: 'two' },
  ])
    void admit(2, bucket);
  expect(asked).toHaveLength(4);
});
