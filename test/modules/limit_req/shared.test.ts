import { expect, test } from 'vitest';
import { admitShared, type AnyLimit } from '../../../src/modules/limit_req/shared.ts';
import { createZone, openRequestRates } from '../../../src/zone/index.ts';

/** A limit of one request per hour with a burst of four. The store decides on one request per element of `excesses`. */
function limitOf(fallback: 'local' | 'share', excesses: readonly number[]): AnyLimit {
  const memory = createZone({ name: 'one', kind: 'request limit', sizeBytes: 65_536, key: '$arg_k' });
  const left = [...excesses];
  const admit = () => {
    const excess = left.shift();
    return Promise.resolve(
      excess === undefined ? ({ verdict: 'lost' } as const) : ({ verdict: 'counted', excess } as const),
    );
  };
  return {
    zone: 'one',
    key: 'k',
    rates: openRequestRates(memory, 1),
    milliRequestsPerSecond: 1 / 3.6,
    burst: 3_000,
    delay: Infinity,
    shared: { cluster: { plan: { limits: { fallback } }, liveNodes: 2, limits: { admit } }, isExact: true },
  };
}

async function verdictsOf(limit: AnyLimit, count: number): Promise<string[]> {
  const all: string[] = [];
  for (let nth = 0; nth < count; nth += 1) all.push((await admitShared([limit])).verdict);
  return all;
}

const cases = [
  { it: 'the requests to this gateway', excesses: [0, 1_000], then: ['passed', 'passed', 'rejected'] },
  { it: 'the requests to other gateways', excesses: [2_000], then: ['passed', 'rejected'] },
  { it: 'a full bucket', excesses: [3_000], then: ['rejected'] },
  { it: 'no requests', excesses: [], then: ['passed', 'passed', 'passed', 'passed', 'rejected'] },
];
for (const fallback of ['local', 'share'] as const) {
  for (const { it, excesses, then } of cases) {
    test(`when the store stops responding, fallback=${fallback} continues with ${it}`, async () => {
      const limit = limitOf(fallback, excesses);
      const counted = excesses.map(() => 'passed');
      expect(await verdictsOf(limit, counted.length + then.length)).toEqual([...counted, ...then]);
    });
  }
}
