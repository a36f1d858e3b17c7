import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createZone, markDead } from '../../../src/zone/index.ts';
import { clearAlive } from '../../../src/zone/lock.ts';
import { SIZE, connectionZone, requestsOn } from './zones.ts';

test('a connection limit admits its number at the same time, and another one when one has left', () => {
  const requests = requestsOn(connectionZone());
  expect([1, 2, 3].map(() => requests.enter('k', 2))).toEqual(['counted', 'counted', 'limited']);
  expect(requests.enter('other', 2)).toBe('counted');
  requests.leave('k');
  expect([1, 2].map(() => requests.enter('k', 2))).toEqual(['counted', 'limited']);
});

test('threads count together, and the count of a dead thread is released', () => {
  const buffer = connectionZone();
  const [one, two] = [requestsOn(buffer, 1), requestsOn(buffer, 2)];
  for (const requests of [one, two, two]) expect(requests.enter('k', 3)).toBe('counted');
  expect(two.enter('mine', 1)).toBe('counted');
  expect(one.enter('k', 3)).toBe('limited');
  expect(one.enter('mine', 1)).toBe('limited');
  markDead(buffer, 2);
  expect([1, 2, 3].map(() => one.enter('k', 3))).toEqual(['counted', 'counted', 'limited']);
  expect(one.enter('mine', 1)).toBe('counted');
});

test('a zone without room refuses new keys, and accepts them again when others are gone', () => {
  const requests = requestsOn(connectionZone());
  const keys = Array.from({ length: 200 }, (_, n) => `key ${n}`);
  const entered = keys.filter((key) => requests.enter(key, 1) === 'counted');
  // 246 blocks, two for a key.
  expect(entered).toHaveLength(123);
  expect(requests.enter('one more', 1)).toBe('full');
  expect(requests.enter('key 0', 1)).toBe('limited');
  requests.leave('key 0');
  expect(requests.enter('one more', 1)).toBe('counted');
  for (const key of entered.slice(1)) requests.leave(key);
  requests.leave('one more');
  expect(keys.slice(0, 123).map((key) => requests.enter(key, 1))).toEqual(Array(123).fill('counted'));
});

test('leaving without a count changes nothing', () => {
  const requests = requestsOn(connectionZone());
  requests.leave('k');
  expect([requests.enter('k', 1), requests.enter('k', 1)]).toEqual(['counted', 'limited']);
});

test('a zone of another kind is refused', () => {
  const other = createZone({ name: 'd', kind: 'dictionary', sizeBytes: SIZE });
  expect(() => requestsOn(other)).toThrow('connection limits');
});

const step = fc.record({
  thread: fc.integer({ min: 1, max: 3 }),
  key: fc.constantFrom('a', 'b', ':', '1:a', '2:'),
  does: fc.constantFrom('enter', 'enter', 'leave', 'die', 'die under the lock'),
});

test('after any sequence of entries, exits and deaths, a key has the requests of its live threads', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const buffer = connectionZone();
      const held = new Map<string, number>();
      const mine = (thread: number, key: string) => held.get(`${thread} ${key}`) ?? 0;
      const total = (key: string) => [1, 2, 3].reduce((sum, thread) => sum + mine(thread, key), 0);
      for (const { thread, key, does } of steps) {
        if (does === 'enter') {
          const expected = total(key) < 3 ? 'counted' : 'limited';
          expect(requestsOn(buffer, thread).enter(key, 3)).toBe(expected);
          if (expected === 'counted') held.set(`${thread} ${key}`, mine(thread, key) + 1);
        } else if (does === 'leave') {
          if (mine(thread, key) === 0) continue;
          requestsOn(buffer, thread).leave(key);
          held.set(`${thread} ${key}`, mine(thread, key) - 1);
        } else {
          if (does === 'die under the lock') new Int32Array(buffer)[4] = thread + 1;
          markDead(buffer, thread);
          for (const name of held.keys()) if (name.startsWith(`${thread} `)) held.delete(name);
        }
      }
    }),
  );
});

test('a thread that takes the lock from a dead one goes on, and the master releases the requests of the dead one', () => {
  const buffer = connectionZone();
  expect(requestsOn(buffer, 7).enter('k', 2)).toBe('counted');
  new Int32Array(buffer)[4] = 7 + 1;
  clearAlive(new Int32Array(buffer), 7);
  const other = requestsOn(buffer, 1);
  expect([other.enter('k', 2), other.enter('k', 2)]).toEqual(['counted', 'limited']);
  markDead(buffer, 7);
  expect(other.enter('k', 2)).toBe('counted');
});
