import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Below this heap, in bytes, a collection frees too little. */
const LARGE_HEAP_BYTES = 24 * 1024 * 1024;

/**
 * Collects the garbage of loading a large configuration and returns the memory to the system: an idle thread would keep
 * it. Takes about 100 ms, so it must not be called while the thread serves.
 */
function releaseMemory(leastHeapBytes = LARGE_HEAP_BYTES): void {
  if (getHeapStatistics().total_heap_size < leastHeapBytes) return;
  const setFlags = (prefix: '--' | '--no-'): void => {
    for (const flag of ['expose-gc', 'compact-on-every-full-gc']) setFlagsFromString(prefix + flag);
  };
  setFlags('--');
  // The flags are those of the process: another thread may have reset them. Then this one keeps its memory.
  const collect = runInNewContext('globalThis.gc') as (() => void) | undefined;
  collect?.();
  // V8 shrinks the space for new objects if few were made since the last collection.
  collect?.();
  setFlags('--no-');
}

/** A thread that has ended while it released its memory must not hold the others up for longer. */
const MOST_WAIT_MS = 2_000;

/**
 * As `releaseMemory`, one thread after the other: with flags that another thread has reset, one would keep its memory.
 * `turn` is four bytes that these threads share.
 */
export function releaseMemoryInTurn(turn: SharedArrayBuffer, leastHeapBytes?: number): void {
  const cells = new Int32Array(turn);
  while (Atomics.compareExchange(cells, 0, 0, 1) === 1)
    if (Atomics.wait(cells, 0, 1, MOST_WAIT_MS) === 'timed-out') break;
  releaseMemory(leastHeapBytes);
  Atomics.store(cells, 0, 0);
  Atomics.notify(cells, 0);
}

/**
 * V8 shrinks the space for new objects only after some seconds with few allocations. A collection takes 150 ms of CPU per
 * thread: reloads that follow one another within half a minute share it.
 */
const SETTLED_MS = 30_000;

/** Releases the memory of loads when the thread has settled, once for all loads until then. */
export class SettledMemory {
  #isDue = false;

  /** Call this after each load. */
  loaded(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => {
      this.#isDue = false;
      releaseMemory();
    }, SETTLED_MS).unref();
  }

  /** Call this when a thread has ended: its memory, about 20 MB, is freed with the object of the thread. */
  threadEnded(): void {
    releaseMemory(0);
  }
}

/** A thread that is busy for a smaller share of its time has nothing to do but timers. */
const MOST_BUSY = 0.01;
/** Between two tries while another thread releases its memory. */
const OTHERS_TURN_MS = 200;

/**
 * Releases the memory of loads in a thread that serves, once it has been idle for some seconds: in a busy one V8 collects
 * soon anyway, and a request would wait for it. `turn` is that of `releaseMemoryInTurn`.
 */
export class IdleMemory {
  readonly #turn: SharedArrayBuffer;
  readonly #settledMs: number;
  #isDue = false;

  constructor(turn: SharedArrayBuffer, settledMs = SETTLED_MS) {
    this.#turn = turn;
    this.#settledMs = settledMs;
  }

  /** Call this after each load. */
  loaded(): void {
    if (!this.#isDue) this.#wait(this.#settledMs);
    this.#isDue = true;
  }

  #wait(ms: number): void {
    const before = performance.eventLoopUtilization();
    setTimeout(() => {
      if (performance.eventLoopUtilization(before).utilization > MOST_BUSY)
        return this.#wait(this.#settledMs);
      if (Atomics.load(new Int32Array(this.#turn), 0) === 1) return this.#wait(OTHERS_TURN_MS);
      this.#isDue = false;
      releaseMemoryInTurn(this.#turn, 0);
    }, ms).unref();
  }
}
