import { once } from 'node:events';
import { expect, test } from 'vitest';
import { markDead, openOpenRequests } from '../../../src/zone/index.ts';
import { compileThreads, startThread } from '../thread.ts';
import { connectionZone, rateZone } from './zones.ts';

compileThreads('limiter', 'visitor', 'dying-visitor');

const THREADS = 4;

/** Starts the program in every thread at the same moment; gives what each of them posts at the end. */
async function storm(program: string, work: (threadId: number) => object): Promise<unknown[]> {
  const gate = new SharedArrayBuffer(4);
  const threads = Array.from({ length: THREADS }, (_, n) =>
    startThread(program, { gate, threadId: n + 1, ...work(n + 1) }),
  );
  await Promise.all(threads.map((thread) => thread.next()));
  const results = Promise.all(threads.map((thread) => thread.next()));
  Atomics.store(new Int32Array(gate), 0, 1);
  Atomics.notify(new Int32Array(gate), 0);
  return results;
}

test(`${THREADS} threads use one limit at once: exactly the burst and one more pass`, async () => {
  const zones = [rateZone()];
  const passed = (await storm('limiter', () => ({ zones, count: 50_000, burst: 777 }))) as number[];
  expect(passed.reduce((sum, count) => sum + count)).toBe(778);
});

test(`${THREADS} threads use two limits in either order: there is no deadlock, and neither limit lets too many pass`, async () => {
  const [first, second] = [rateZone(), rateZone()];
  const passed = (await storm('limiter', (threadId) => ({
    zones: threadId % 2 === 0 ? [first, second] : [second, first],
    count: 20_000,
    burst: 333,
  }))) as number[];
  expect(passed.reduce((sum, count) => sum + count)).toBe(334);
});

test(`${THREADS} threads enter and leave: never more than the limit are inside, and in the end none is`, async () => {
  const buffer = connectionZone();
  const inside = new SharedArrayBuffer(12);
  const results = (await storm('visitor', () => ({ buffer, inside, count: 50_000, limit: 2 }))) as {
    most: number;
    entered: number;
  }[];
  for (const { most, entered } of results) {
    expect(most).toBeLessThanOrEqual(2);
    expect(entered).toBeGreaterThan(0);
  }
  const after = openOpenRequests(buffer, 1);
  for (const key of ['k0', 'k1', 'k2'])
    expect([1, 2, 3].map(() => after.enter(key, 2))).toEqual(['counted', 'counted', 'limited']);
});

// An entry becomes valid with one store and is given up with another; the exchange frees the lock.
const deaths = [
  { method: 'store', nth: 1, side: 'before' },
  { method: 'store', nth: 1, side: 'after' },
  { method: 'store', nth: 2, side: 'before' },
  { method: 'store', nth: 2, side: 'after' },
  { method: 'exchange', nth: 1, side: 'before' },
] as const;
for (const death of deaths) {
  for (const does of ['enter', 'leave'] as const) {
    for (const others of [0, 2]) {
      const where = `${death.side} its ${death.nth}. ${death.method}`;
      test(`a thread that dies while it is about to ${does}, ${where}, leaves ${others} requests of others`, async () => {
        const buffer = connectionZone();
        const other = openOpenRequests(buffer, 1);
        for (let n = 0; n < others; n++) other.enter('key', 9);
        const { worker } = startThread('dying-visitor', { buffer, threadId: 3, does, ...death });
        await once(worker, 'exit');
        markDead(buffer, 3);
        const free = Array.from({ length: 4 - others }, () => other.enter('key', 4));
        expect(free).toEqual(Array(4 - others).fill('counted'));
        expect(other.enter('key', 4)).toBe('limited');
        for (let n = 0; n < 4; n++) other.leave('key');
        expect(other.enter('key', 1)).toBe('counted');
      });
    }
  }
}
