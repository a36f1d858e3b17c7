import { setTimeout as sleep } from 'node:timers/promises';
import type { CacheStore } from '../cache/index.ts';

/** How long requests wait, and how old a lock may become. */
interface Patience {
  readonly ageMs: number;
  readonly timeoutMs: number;
  /** When the request began to wait (`performance.now`). */
  readonly startedMs: number;
}

/** A lock of another worker is looked at again after a time that doubles. */
const SHORTEST_STEP_MS = 5;
const LONGEST_STEP_MS = 100;

/** The requests of one worker that wait until somebody else has fetched a response. */
export class LockQueue {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Resolves with a ticket; with `again` when the lock has become free; with `late` after the timeout. */
  async lock(
    { index, now }: CacheStore,
    digest: Buffer,
    { ageMs, timeoutMs, startedMs }: Patience,
  ): Promise<number | 'again' | 'late'> {
    for (let stepMs = SHORTEST_STEP_MS; ; stepMs = Math.min(stepMs * 2, LONGEST_STEP_MS)) {
      const ticket = index.lock(digest, { nowMs: now(), ageMs });
      if (ticket !== 0) return ticket;
      const leftMs = timeoutMs - (performance.now() - startedMs);
      if (leftMs <= 0) return 'late';
      await this.#wait(digest, Math.min(stepMs, leftMs));
      if (!index.isLocked(digest)) return 'again';
    }
  }

  /** Frees a lock; waiting requests of this worker learn of it at once. */
  release({ index }: CacheStore, digest: Buffer, ticket: number): void {
    index.unlock(digest, ticket);
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
