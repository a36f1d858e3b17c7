import { expect, test, vi } from 'vitest';
import { Pool, type PoolRefusal } from '../../src/postgres/pool.ts';

interface Thing {
  readonly id: number;
}

/** A pool of resources that open when the test decides. */
function openThings({ size = 2, maxAgeMs = 60_000 } = {}) {
  const opened: Thing[] = [];
  const closed: Thing[] = [];
  const reachable: boolean[] = [];
  const peer: { failure: Error | undefined } = { failure: undefined };
  const pool = new Pool<Thing>({
    size,
    maxAgeMs,
    open: async () => {
      await Promise.resolve();
      if (peer.failure) throw peer.failure;
      opened.push({ id: opened.length + 1 });
      return opened.at(-1) as Thing;
    },
    close: (thing) => void closed.push(thing),
    unreachable: (error) => void reachable.push(error === undefined),
  });
  return { pool, peer, opened, closed, reachable };
}

const rules = { waitMs: 60_000, queueLimit: 10 };
const reasonOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'given',
    (error: PoolRefusal) => error.reason,
  );

test('the resource used last is used again first', async () => {
  const { pool, opened } = openThings();
  const [a, b] = await Promise.all([pool.acquire(rules), pool.acquire(rules)]);
  pool.release(a);
  pool.release(b);
  expect(await pool.acquire(rules)).toBe(b);
  expect(opened).toHaveLength(2);
});

test('no more resources than the size are open, and waiters are served in order', async () => {
  const { pool, opened } = openThings({ size: 1 });
  const first = await pool.acquire(rules);
  const served: string[] = [];
  const second = pool.acquire(rules).then((thing) => (served.push('second'), pool.release(thing)));
  const third = pool.acquire(rules).then((thing) => (served.push('third'), pool.release(thing)));
  pool.release(first);
  await Promise.all([second, third]);
  expect(served).toEqual(['second', 'third']);
  expect(opened).toHaveLength(1);
});

test('a caller that finds the queue full is refused at once', async () => {
  const { pool } = openThings({ size: 1 });
  const held = await pool.acquire(rules);
  const waiting = pool.acquire({ ...rules, queueLimit: 1 });
  expect(await reasonOf(pool.acquire({ ...rules, queueLimit: 1 }))).toBe('full');
  pool.release(held);
  await waiting;
});

test('a caller that waits longer than the limit is refused', async () => {
  vi.useFakeTimers();
  try {
    const { pool } = openThings({ size: 1 });
    await pool.acquire(rules);
    const late = reasonOf(pool.acquire({ ...rules, waitMs: 100 }));
    await vi.advanceTimersByTimeAsync(100);
    expect(await late).toBe('late');
  } finally {
    vi.useRealTimers();
  }
});

test('a waiter that went away makes room and is never served', async () => {
  const { pool } = openThings({ size: 1 });
  const held = await pool.acquire(rules);
  const gone = reasonOf(pool.acquire({ waitMs: 60_000, queueLimit: 1, abandoned: () => true }));
  const patient = pool.acquire({ ...rules, queueLimit: 1 });
  expect(await gone).toBe('abandoned');
  pool.release(held);
  expect(await patient).toBe(held);
});

test('a broken resource is closed and replaced for the next waiter', async () => {
  const { pool, closed } = openThings({ size: 1 });
  const broken = await pool.acquire(rules);
  const waiting = pool.acquire(rules);
  pool.release(broken, true);
  expect((await waiting).id).toBe(2);
  expect(closed).toEqual([broken]);
});

test('an idle resource that dies is not handed out again', async () => {
  const { pool } = openThings();
  const idle = await pool.acquire(rules);
  pool.release(idle);
  pool.discard(idle);
  expect((await pool.acquire(rules)).id).toBe(2);
});

test('a resource beyond its age is closed when it is returned', async () => {
  const { pool, closed } = openThings({ maxAgeMs: -1 });
  const old = await pool.acquire(rules);
  pool.release(old);
  expect(closed).toEqual([old]);
});

test('an idle resource is closed at its age, the oldest first, and none in use', async () => {
  vi.useFakeTimers();
  try {
    const { pool, closed } = openThings({ size: 3, maxAgeMs: 1_000 });
    const [first, used] = await Promise.all([pool.acquire(rules), pool.acquire(rules)]);
    await vi.advanceTimersByTimeAsync(400);
    const second = await pool.acquire(rules);
    pool.release(second);
    pool.release(first);
    await vi.advanceTimersByTimeAsync(600);
    expect(closed).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(closed).toEqual([first]);
    await vi.advanceTimersByTimeAsync(400);
    expect(closed).toEqual([first, second]);
    expect(pool.isAged(used)).toBe(true);
    pool.release(used);
    expect(closed).toEqual([first, second, used]);
  } finally {
    vi.useRealTimers();
  }
});

test('a shorter age holds for the resources that are idle', async () => {
  vi.useFakeTimers();
  try {
    const { pool, closed } = openThings();
    const idle = await pool.acquire(rules);
    pool.release(idle);
    await vi.advanceTimersByTimeAsync(500);
    pool.adjust({ size: 2, maxAgeMs: 800 });
    await vi.advanceTimersByTimeAsync(300);
    expect(closed).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(closed).toEqual([idle]);
  } finally {
    vi.useRealTimers();
  }
});

test('a pool made smaller shrinks as resources are returned', async () => {
  const { pool, closed } = openThings({ size: 2 });
  const both = await Promise.all([pool.acquire(rules), pool.acquire(rules)]);
  pool.adjust({ size: 1, maxAgeMs: 60_000 });
  for (const thing of both) pool.release(thing);
  expect(closed).toHaveLength(1);
});

test('the peer’s own error reaches the caller that requested the first resource', async () => {
  const { pool, peer } = openThings();
  peer.failure = new Error('connection refused');
  await expect(pool.acquire(rules)).rejects.toMatchObject({
    reason: 'unreachable',
    message: 'connection refused',
  });
});

test('three failures open the circuit: no attempt per caller, until the probe reaches the peer again', async () => {
  vi.useFakeTimers();
  try {
    const { pool, peer, opened, reachable } = openThings();
    peer.failure = new Error('connection refused');
    for (let i = 0; i < 3; i += 1) expect(await reasonOf(pool.acquire(rules))).toBe('unreachable');
    expect(reachable).toEqual([false]);

    peer.failure = undefined;
    expect(await reasonOf(pool.acquire(rules))).toBe('unreachable');
    expect(opened).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(100);
    expect(reachable).toEqual([false, true]);
    expect((await pool.acquire(rules)).id).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});

test('a peer that comes back is found within two seconds, however long it was down', async () => {
  vi.useFakeTimers();
  try {
    const { pool, peer, reachable } = openThings();
    peer.failure = new Error('connection refused');
    for (let i = 0; i < 3; i += 1) await reasonOf(pool.acquire(rules));
    await vi.advanceTimersByTimeAsync(3_600_000);
    peer.failure = undefined;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(reachable).toEqual([false, true]);
    await pool.close();
  } finally {
    vi.useRealTimers();
  }
});

test('waiters stay queued while resources are alive, although no more can be opened', async () => {
  const { pool, peer } = openThings({ size: 2 });
  const held = await pool.acquire(rules);
  peer.failure = new Error('too many clients');
  const waiting = pool.acquire(rules);
  await Promise.resolve();
  pool.release(held);
  expect(await waiting).toBe(held);
});

test('no caller waits for ever when the last resource dies and none can be opened', async () => {
  const { pool, peer } = openThings({ size: 1 });
  const held = await pool.acquire(rules);
  const waiting = [1, 2, 3, 4, 5].map(() => reasonOf(pool.acquire(rules)));
  peer.failure = new Error('connection refused');
  pool.release(held, true);
  expect(await Promise.all(waiting)).toEqual(Array.from({ length: 5 }, () => 'unreachable'));
});

test('closing refuses all waiters and ends when the last resource is returned', async () => {
  const { pool, closed } = openThings({ size: 1 });
  const held = await pool.acquire(rules);
  const waiting = reasonOf(pool.acquire(rules));
  const closing = pool.close();
  expect(await waiting).toBe('closed');
  expect(closed).toEqual([]);
  pool.release(held);
  await closing;
  expect(closed).toEqual([held]);
  expect(await reasonOf(pool.acquire(rules))).toBe('closed');
});
