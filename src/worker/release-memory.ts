import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Below this heap, in bytes, a collection frees too little. */
const LARGE_HEAP_BYTES = 24 * 1024 * 1024;

/**
 * Collects the garbage that loading a large configuration leaves, and gives the memory back: an idle thread would keep it for
 * good. Takes some 100 ms, so it is not called while the thread serves.
 */
export function releaseMemory(): void {
  if (getHeapStatistics().total_heap_size < LARGE_HEAP_BYTES) return;
  const setFlags = (prefix: '--' | '--no-'): void => {
    for (const flag of ['expose-gc', 'compact-on-every-full-gc']) setFlagsFromString(prefix + flag);
  };
  setFlags('--');
  (runInNewContext('gc') as () => void)();
  setFlags('--no-');
}

/** V8 shrinks the space for new objects only after some seconds with few allocations. */
const SETTLED_MS = 6_000;

/** Releases memory now and when the thread has settled. */
export function releaseMemoryOfLoad(): void {
  releaseMemory();
  setTimeout(releaseMemory, SETTLED_MS).unref();
}
