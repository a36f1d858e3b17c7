import { ALIVE_WORD, ALIVE_WORDS, PRIORITY_WORD, LOCK_WORD } from './header.ts';

/** Set together with the owner while a thread sleeps: only then must a release wake a thread. */
const WAITERS = 1 << 30;
const OWNER = WAITERS - 1;
/** Sleeping and waking take about 30 us, longer than the lock is usually held. */
const SPINS = 200;
const SLEEP_MS = 20;
const SUSPICION_MS = 100;
/**
 * A thread that has waited this long gets priority; otherwise threads that acquire the lock again and again would
 * starve it.
 */
const PRIORITY_AFTER_MS = 20;
const STEP_ASIDE_MS = 2;
/** A thread that cannot acquire the lock in this time gives up. */
const LOCK_PATIENCE_MS = 250;

/** Thread ids are 0 (the master) to this number. */
const MAX_THREAD_ID = ALIVE_WORDS * 32 - 1;

// Ids 0 to 15 have a word each; the following ids use further bits of the same words.
const aliveWord = (threadId: number) => ALIVE_WORD + (threadId % ALIVE_WORDS);
const aliveBit = (threadId: number) => 1 << Math.floor(threadId / ALIVE_WORDS);

/** Marks a thread as alive in a zone. */
export function setAlive(words: Int32Array, threadId: number): void {
  if (!Number.isInteger(threadId) || threadId < 0 || threadId > MAX_THREAD_ID) {
    throw new RangeError(`thread id ${threadId} is not between 0 and ${MAX_THREAD_ID}`);
  }
  Atomics.or(words, aliveWord(threadId), aliveBit(threadId));
}

/** Marks a thread as exited in a zone. */
export function clearAlive(words: Int32Array, threadId: number): void {
  Atomics.and(words, aliveWord(threadId), ~aliveBit(threadId));
}

function isAlive(words: Int32Array, threadId: number): boolean {
  return (Atomics.load(words, aliveWord(threadId)) & aliveBit(threadId)) !== 0;
}

/**
 * The lock of a zone as one thread sees it: 0 if it is free, else the owner's id + 1. It is not reentrant. `repair`
 * runs under the lock after it was taken from a dead owner, before any other thread acquires it.
 */
export class ZoneLock {
  readonly #words: Int32Array;
  readonly #mine: number;
  readonly #repair: () => void;

  constructor(words: Int32Array, threadId: number, repair: () => void) {
    this.#words = words;
    this.#mine = threadId + 1;
    this.#repair = repair;
  }

  /** Acquires the lock; blocks the thread meanwhile. Returns false if that fails for 250 ms. */
  acquire(): boolean {
    const first = Atomics.load(this.#words, PRIORITY_WORD);
    if (first !== 0) Atomics.wait(this.#words, PRIORITY_WORD, first, STEP_ASIDE_MS);
    if (Atomics.compareExchange(this.#words, LOCK_WORD, 0, this.#mine) === 0) return true;
    for (let spin = 0; spin < SPINS; spin++) {
      if (
        Atomics.load(this.#words, LOCK_WORD) === 0 &&
        Atomics.compareExchange(this.#words, LOCK_WORD, 0, this.#mine) === 0
      ) {
        return true;
      }
    }
    try {
      return this.#sleepFor();
    } finally {
      this.#endPriority(this.#mine);
    }
  }

  release(): void {
    if ((Atomics.exchange(this.#words, LOCK_WORD, 0) & WAITERS) !== 0)
      Atomics.notify(this.#words, LOCK_WORD, 1);
  }

  /** Takes the lock from a dead thread if that holds it, repairs the zone and releases the lock. */
  takeOver(threadId: number): void {
    this.#endPriority(threadId + 1);
    for (;;) {
      const held = Atomics.load(this.#words, LOCK_WORD);
      if ((held & OWNER) !== threadId + 1) return;
      if (this.#takeFromDead(held)) {
        this.release();
        return;
      }
    }
  }

  #sleepFor(): boolean {
    const words = this.#words;
    const startedMs = performance.now();
    for (;;) {
      // Other threads may sleep, too; the bit makes this thread's release wake them.
      const held = Atomics.compareExchange(words, LOCK_WORD, 0, this.#mine | WAITERS);
      if (held === 0) return true;
      const waitedMs = performance.now() - startedMs;
      if (waitedMs >= LOCK_PATIENCE_MS) return false;
      if (waitedMs > PRIORITY_AFTER_MS) Atomics.compareExchange(words, PRIORITY_WORD, 0, this.#mine);
      if (waitedMs > SUSPICION_MS && !isAlive(words, (held & OWNER) - 1) && this.#takeFromDead(held))
        return true;
      const marked = held | WAITERS;
      if (held === marked || Atomics.compareExchange(words, LOCK_WORD, held, marked) === held) {
        Atomics.wait(words, LOCK_WORD, marked, Math.min(SLEEP_MS, LOCK_PATIENCE_MS - waitedMs));
      }
    }
  }

  /** Ends the priority of an owner, and wakes the threads that wait for that. */
  #endPriority(owner: number): void {
    if (Atomics.compareExchange(this.#words, PRIORITY_WORD, owner, 0) === owner)
      Atomics.notify(this.#words, PRIORITY_WORD);
  }

  #takeFromDead(held: number): boolean {
    if (Atomics.compareExchange(this.#words, LOCK_WORD, held, this.#mine | WAITERS) !== held) return false;
    this.#repair();
    return true;
  }
}
