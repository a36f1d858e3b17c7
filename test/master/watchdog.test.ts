import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { expect, test, vi } from 'vitest';
import { OwnTime } from '../../src/master/own-time.ts';
import { MAX_WORKERS, Watchdog } from '../../src/master/watchdog.ts';

const CHECK_MS = 500;

/** What a watchdog did, and at which of its checks. */
interface Deeds {
  readonly interruptedAt: number | undefined;
  readonly killedAt: number | undefined;
}

/** Lets a watchdog look so often at a worker that has beaten once. `ownMs`: its own time in each check. */
function watch(
  checks: number,
  { ownMs, knowsThread = true, isLoading = false, beat = (): void => undefined }: Case,
): Deeds {
  let [check, interruptedAt, killedAt] = [
    0,
    undefined as number | undefined,
    undefined as number | undefined,
  ];
  vi.useFakeTimers();
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
    killedAt ??= check;
    return true;
  });
  const interrupt = (): void => void (interruptedAt ??= check);
  const events = { isLoading: () => isLoading, interrupt };
  const watchdog = new Watchdog({ write: () => undefined }, events, () => ({ of: () => ownMs }));
  const cells = new Int32Array(watchdog.watch(1));
  if (knowsThread) cells[MAX_WORKERS + 1] = 77;
  cells[1] = 1;
  watchdog.start();
  vi.advanceTimersByTime(CHECK_MS);
  for (check = 1; check <= checks; check++) {
    beat(cells, check);
    vi.advanceTimersByTime(CHECK_MS);
  }
  watchdog.stop();
  kill.mockRestore();
  vi.useRealTimers();
  return { interruptedAt, killedAt };
}

interface Case {
  readonly ownMs: number;
  /** The worker could tell the id of its thread. */
  readonly knowsThread?: boolean;
  readonly isLoading?: boolean;
  readonly beat?: (cells: Int32Array, check: number) => void;
}

const everyThird = (cells: Int32Array, check: number): void => {
  if (check % 3 === 0) cells[1] = check + 1;
};

const cases: readonly (Case & Deeds & { readonly it: string })[] = [
  { it: 'a worker that is silent for 2 s', ownMs: 500, interruptedAt: 4, killedAt: 20 },
  { it: 'one that got half of a core', ownMs: 250, interruptedAt: 8, killedAt: 40 },
  { it: 'one that got no core', ownMs: 0, interruptedAt: undefined, killedAt: undefined },
  { it: 'one that reads a configuration', ownMs: 500, isLoading: true, interruptedAt: 14, killedAt: 20 },
  { it: 'one that beats', ownMs: 500, beat: everyThird, interruptedAt: undefined, killedAt: undefined },
  { it: 'one whose thread is unknown', ownMs: 0, knowsThread: false, interruptedAt: 4, killedAt: 20 },
];

for (const { it, interruptedAt, killedAt, ...worker } of cases) {
  test(`of ${it}, its own time decides whether it hangs`, () => {
    expect(watch(40, worker)).toEqual({ interruptedAt, killedAt });
  });
}

const THREAD = `
const { parentPort } = require('node:worker_threads');
const id = require('node:fs').readlinkSync('/proc/thread-self').split('/').pop();
parentPort.postMessage(Number(id));
parentPort.once('message', (act) => {
  parentPort.postMessage('begins');
  if (act === 'spin') for (;;);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

/** Starts a thread that does so, and gives its id in /proc. */
async function startThread(act: 'spin' | 'sleep', threads: Worker[]): Promise<number> {
  const thread = new Worker(THREAD, { eval: true });
  threads.push(thread);
  const [id] = await once(thread, 'message');
  thread.postMessage(act);
  await once(thread, 'message');
  return Number(id);
}

test.runIf(process.platform === 'linux')(
  'threads that wait for a core have no more time together than there are cores, and one that sleeps has all of its time',
  async (t) => {
    const threads: Worker[] = [];
    t.onTestFinished(async () => void (await Promise.all(threads.map((thread) => thread.terminate()))));
    const cores = availableParallelism();
    const busy = await Promise.all(Array.from({ length: 4 * cores }, () => startThread('spin', threads)));
    const asleep = new OwnTime('self', await startThread('sleep', threads));
    const startedMs = performance.now();
    const times = busy.map((id) => new OwnTime('self', id));
    const whole = new OwnTime('self');
    let ownMs = 0;
    // Each thread runs for a while, and none is forgotten by the scheduler.
    for (const time of times) await expect.poll(() => (ownMs += time.of(60_000))).toBeGreaterThan(0);
    for (const time of times) ownMs += time.of(60_000);
    const wholeMs = whole.of(60_000);
    const passedMs = performance.now() - startedMs;
    // A tick is the precision of each reading.
    expect(ownMs).toBeLessThan(cores * passedMs + 20 * times.length);
    expect(wholeMs).toBeGreaterThan(0);
    expect(wholeMs).toBeLessThan(cores * passedMs + 40 * times.length);
    await expect.poll(() => asleep.of(1_000)).toBe(1_000);
  },
);

test('where the system tells nothing of a thread, all time counts as its own', () => {
  expect(new OwnTime('self', 0).of(500)).toBe(500);
  expect(new OwnTime(2 ** 30).of(500)).toBe(500);
});
