import { setTimeout as sleep } from 'node:timers/promises';
import type { CacheIndex } from '../../zone/index.ts';

/** The cache whose keys are locked. */
interface LockedStore {
  readonly index: CacheIndex;
  now(): number;
}

/** How long requests wait, and how old a lock may become. */
interface Patience {
  readonly ageMs: number;
  readonly timeoutMs: number;
  /** When the request began to wait (`performance.now`). */
  readonly startedMs: number;
}

/** A lock that another worker holds is checked again at intervals that double. */
const SHORTEST_STEP_MS = 5;
const LONGEST_STEP_MS = 100;

/** Requests of one worker that wait until another request has fetched a response of a cache, in any location. */
export class LockQueue {
  readonly #store: LockedStore;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(store: LockedStore) {
    this.#store = store;
  }

  /** Resolves with a ticket; with `again` once the lock is free; with `late` after the timeout. */
  async lock(digest: Buffer, { ageMs, timeoutMs, startedMs }: Patience): Promise<number | 'again' | 'late'> {
    const { index } = this.#store;
    for (let stepMs = SHORTEST_STEP_MS; ; stepMs = Math.min(stepMs * 2, LONGEST_STEP_MS)) {
      const ticket = index.lock(digest, { nowMs: this.#store.now(), ageMs });
      if (ticket !== 0) return ticket;
      const leftMs = timeoutMs - (performance.now() - startedMs);
      if (leftMs <= 0) return 'late';
      await this.#wait(digest, Math.min(stepMs, leftMs));
      if (!index.isLocked(digest)) return 'again';
    }
  }

  /** Frees a lock, and notifies the waiting requests of this worker. */
  release(digest: Buffer, ticket: number): void {
    this.#store.index.unlock(digest, ticket);
    for (const wake of this.#waiting.get(digest.toString('hex')) ?? []) wake();
  }

  async #wait(digest: Buffer, mostMs: number): Promise<void> {
    const name = digest.toString('hex');
    const waiting = this.#waiting.get(name) ?? new Set();
    this.#waiting.set(name, waiting);
    const over = new AbortController();
    const wake = (): void => over.abort();
    waiting.add(wake);
    await sleep(mostMs, undefined, { signal: over.signal }).catch(() => undefined);
    waiting.delete(wake);
    if (waiting.size === 0) this.#waiting.delete(name);
  }
}
