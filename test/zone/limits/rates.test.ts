import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Admission, admit } from '../../../src/modules/limit_req/leaky-bucket.ts';
import { createZone, keepsZone, markDead, zoneConflict, zoneFault } from '../../../src/zone/index.ts';
import { limitsOn, rateZone, SIZE } from './zones.ts';

/** The result of an admission, in short: `passed`, `rejected 1500`, `delayed 500 1000`. */
function short(admission: Admission): string {
  if (admission.verdict === 'rejected') return `rejected ${admission.excess}`;
  if (admission.verdict === 'delayed') return `delayed ${admission.delayMs} ${admission.excess}`;
  return admission.verdict === 'failed' ? `failed ${admission.why}` : admission.verdict;
}

const cases = [
  {
    it: 'lets one through and then none',
    limit: [1],
    at: [0, 0, 999, 1000],
    says: ['passed', 'rejected 1000', 'rejected 1', 'passed'],
  },
  {
    it: 'delays what is in the burst',
    limit: [10, 2],
    at: [0, 0, 0, 0],
    says: ['passed', 'delayed 100 1000', 'delayed 200 2000', 'rejected 3000'],
  },
  {
    it: 'lets the burst through at once with nodelay',
    limit: [10, 2, Infinity],
    at: [0, 0, 0, 0],
    says: ['passed', 'passed', 'passed', 'rejected 3000'],
  },
  {
    it: 'delays from a point on',
    limit: [2, 3, 1],
    at: [0, 0, 0, 0, 0],
    says: ['passed', 'passed', 'delayed 500 2000', 'delayed 1000 3000', 'rejected 4000'],
  },
  {
    it: 'does not count rejected requests',
    limit: [1],
    at: [0, 500, 999, 1000, 2000],
    says: ['passed', 'rejected 500', 'rejected 1', 'passed', 'passed'],
  },
  {
    it: 'rounds the drained amount down',
    limit: [16 / 1000, 1, Infinity],
    at: [0, 10, 20, 1020],
    says: ['passed', 'passed', 'rejected 2000', 'rejected 1984'],
  },
  {
    it: 'treats a small step back of the clock as no time',
    limit: [1, 1, Infinity],
    at: [1000, 500, 1000, 2000],
    says: ['passed', 'passed', 'rejected 2000', 'passed'],
  },
  {
    it: 'goes on when the clock was set back far',
    limit: [1, 1, Infinity],
    at: [100_000, 0, 0],
    says: ['passed', 'passed', 'rejected 1999'],
  },
] as const;
for (const { it, limit, at, says } of cases) {
  test(`a request limit ${it}`, () => {
    const of = limitsOn(rateZone());
    expect(at.map((ms) => short(admit([of('k', limit)], ms)))).toEqual(says);
  });
}

test('keys have buckets of their own', () => {
  const of = limitsOn(rateZone());
  expect(['a', 'b', 'a', 'ä', 'b'].map((key) => short(admit([of(key, [1])], 0)))).toEqual([
    'passed',
    'passed',
    'rejected 1000',
    'passed',
    'rejected 1000',
  ]);
});

test('a request that one limit rejects is counted by none', () => {
  const tight = limitsOn(rateZone());
  const wide = limitsOn(rateZone());
  const both = () => short(admit([wide('w', [1, 2, 5]), tight('t', [1])], 0));
  expect([both(), both(), both()]).toEqual(['passed', 'rejected 1000', 'rejected 1000']);
  expect(short(admit([wide('w', [1, 2, 5])], 0))).toBe('passed');
  expect(short(admit([wide('w', [1, 2, 5])], 0))).toBe('passed');
  expect(short(admit([wide('w', [1, 2, 5])], 0))).toBe('rejected 3000');
});

test('a key that another limit rejected on its first request is still new', () => {
  const tight = limitsOn(rateZone());
  const wide = limitsOn(rateZone());
  admit([tight('t', [1])], 0);
  expect(short(admit([wide('w', [1]), tight('t', [1])], 0))).toBe('rejected 1000');
  expect(short(admit([wide('w', [1])], 0))).toBe('passed');
  expect(short(admit([wide('w', [1])], 0))).toBe('rejected 1000');
});

test('the longest of several delays counts, and the later of equal ones', () => {
  const slow = limitsOn(rateZone());
  const fast = limitsOn(rateZone());
  const limits = () => [slow('k', [1, 5]), fast('k', [2, 5])];
  admit(limits(), 0);
  const [first] = [admit(limits(), 0)];
  expect(short(first)).toBe('delayed 1000 1000');
  const equal = [limitsOn(rateZone())('k', [1, 5]), limitsOn(rateZone())('k', [1, 5])];
  admit(equal, 0);
  expect(admit(equal, 0)).toMatchObject({ delayMs: 1000, limit: equal[1] });
});

/** nginx's ngx_http_limit_req_lookup for one limit, in nginx's own words. */
function nginxLimit(rate: number, burst: number) {
  let known: { excess: number; last: number } | undefined;
  return (now: number): number | 'rejected' => {
    if (!known) {
      known = { excess: 0, last: now };
      return 0;
    }
    const elapsed = now - known.last;
    const ms = elapsed < -60_000 ? 1 : elapsed < 0 ? 0 : elapsed;
    let excess = known.excess - Math.trunc((rate * ms) / 1000) + 1000;
    if (excess < 0) excess = 0;
    if (excess > burst) return 'rejected';
    known.excess = excess;
    if (ms) known.last = now;
    return excess;
  };
}

test('whatever the rate, the burst and the times, a limit counts as nginx does', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50_000 }),
      fc.integer({ min: 0, max: 20 }),
      fc.array(fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: -70_000, max: 70_000 })), {
        maxLength: 60,
      }),
      (rate, burst, steps) => {
        const rates = limitsOn(rateZone())('k', [1]).rates;
        const nginx = nginxLimit(rate, burst * 1000);
        let now = 1_000_000;
        for (const step of steps) {
          now += step;
          const says = admit(
            [{ rates, key: 'k', milliRequestsPerSecond: rate, burst: burst * 1000, delay: 0 }],
            now,
          );
          const excess = nginx(now);
          const delay = Math.floor(((excess as number) * 1000) / rate);
          if (excess === 'rejected') expect(says.verdict).toBe('rejected');
          else expect(short(says)).toBe(delay > 0 ? `delayed ${delay} ${excess}` : 'passed');
        }
      },
    ),
  );
});

test('a full zone forgets the key that was not used for the longest time', () => {
  const of = limitsOn(rateZone());
  const keys = Array.from({ length: 246 }, (_, n) => `key ${n}`);
  for (const key of keys) expect(short(admit([of(key, [1])], 0))).toBe('passed');
  expect(short(admit([of('key 0', [1])], 0))).toBe('rejected 1000');
  expect(short(admit([of('one more', [1])], 0))).toBe('passed');
  expect(short(admit([of('key 0', [1])], 0))).toBe('rejected 1000');
  expect(short(admit([of('key 2', [1])], 0))).toBe('rejected 1000');
  expect(short(admit([of('key 1', [1])], 0))).toBe('passed');
});

test('a key that is too large for the zone fails, and all others stay', () => {
  const of = limitsOn(rateZone());
  admit([of('k', [1])], 0);
  expect(short(admit([of('x'.repeat(40_000), [1])], 0))).toBe('failed full');
  expect(short(admit([of('k', [1])], 0))).toBe('rejected 1000');
});

test('a zone that stays locked fails the request, and no other zone is left locked', () => {
  const first = rateZone();
  const second = rateZone();
  const words = new Int32Array(second);
  const limits = [limitsOn(first)('k', [1]), limitsOn(second)('k', [1])];
  limitsOn(second, 5);
  words[4] = 5 + 1;
  expect(short(admit(limits, 0))).toBe('failed busy');
  words[4] = 0;
  expect(new Int32Array(first)[4]).toBe(0);
  expect(short(admit(limits, 0))).toBe('passed');
});

test('the count of a thread survives its death under the lock', () => {
  const buffer = rateZone();
  admit([limitsOn(buffer, 3)('k', [1])], 0);
  new Int32Array(buffer)[4] = 3 + 1;
  markDead(buffer, 3);
  expect(short(admit([limitsOn(buffer, 4)('k', [1])], 0))).toBe('rejected 1000');
});

test('a reload keeps the zone while size and key stay', () => {
  const buffer = rateZone();
  const declared = { name: 'one', kind: 'request limit', sizeBytes: SIZE, key: '$k' } as const;
  expect(keepsZone(buffer, declared)).toBe(true);
  expect(keepsZone(buffer, { ...declared, sizeBytes: 65_536 })).toBe(false);
  expect(keepsZone(buffer, { ...declared, key: '$other' })).toBe(false);
  expect(keepsZone(buffer, { ...declared, kind: 'connection limit' })).toBe(false);
  expect(zoneConflict({ ...declared, sizeBytes: 65_536 }, declared)).toBe(
    'the size 65536 of shared memory zone "one" conflicts with already declared size 32768',
  );
  expect(zoneConflict({ ...declared, kind: 'connection limit' }, declared)).toBe(
    'zone "one" is already declared as a request limit',
  );
  expect(zoneFault({ ...declared, sizeBytes: 268_435_457 })).toBe(
    'zone "one" is too large: at most 268435456 bytes are allowed, 268435457 given',
  );
  expect(() => limitsOn(createZone({ name: 'd', kind: 'dictionary', sizeBytes: SIZE }))).toThrow(
    'request limits',
  );
});
