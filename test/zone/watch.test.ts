import { once } from 'node:events';
import { expect, test, vi } from 'vitest';
import { createZone, openRing } from '../../src/zone/index.ts';
import { compileThreads, startThread } from './thread.ts';

compileThreads('watcher');

const event = { channel: 'c', type: 't' };
const ringOf = () => openRing(createZone({ name: 'bus', kind: 'ring', capacity: 8 }), 1);

/** Gives a function, and a promise that its next call resolves. */
function nextCall(): { called: Promise<void>; listener: () => void } {
  let listener = () => {};
  const called = new Promise<void>((resolve) => void (listener = resolve));
  return { called, listener };
}

test('a publish wakes the watchers in every thread, and an open watch keeps no thread alive', async () => {
  const buffer = createZone({ name: 'bus', kind: 'ring', capacity: 8 });
  const threads = [1, 2].map((threadId) => startThread('watcher', { buffer, threadId }));
  await Promise.all(threads.map((thread) => thread.next()));
  const ring = openRing(buffer, 3);
  for (const generation of [1, 2, 3]) {
    const wakes = Promise.all(threads.map((thread) => thread.next()));
    ring.publish(event);
    expect(await wakes).toEqual([generation, generation]);
  }
  for (const { worker } of threads) {
    const exit = once(worker, 'exit');
    worker.postMessage('close');
    expect(await exit).toEqual([0]);
  }
});

test('all watchers of a thread share one sleeping wait', async () => {
  const ring = ringOf();
  const waitAsync = vi.spyOn(Atomics, 'waitAsync');
  const calls = [nextCall(), nextCall(), nextCall()];
  for (const { listener } of calls) ring.watch(listener);
  expect(waitAsync).toHaveBeenCalledTimes(1);
  ring.publish(event);
  await Promise.all(calls.map(({ called }) => called));
  expect(waitAsync).toHaveBeenCalledTimes(2);
  waitAsync.mockRestore();
});

test('a watcher that has left is not called, and the watch starts again with the next one', async () => {
  const ring = ringOf();
  const left = vi.fn<() => void>();
  ring.watch(left)();
  ring.publish(event);
  const { called, listener } = nextCall();
  ring.watch(listener);
  ring.publish(event);
  await called;
  expect(left).not.toHaveBeenCalled();
});

test('a watcher is also notified of its own event', async () => {
  const ring = ringOf();
  const { called, listener } = nextCall();
  const end = ring.watch(() => {
    if (ring.range()?.newest === 3) listener();
    else ring.publish(event);
  });
  ring.publish(event);
  await called;
  end();
  expect(ring.range()?.newest).toBe(3);
});
