import type { Done, Reply, StoreFault } from './store.ts';

/** One command without an answer yet. */
export interface Call {
  readonly done: Done;
  /** On the clock of `performance.now()`. */
  readonly deadlineMs: number;
}

/**
 * The commands of one store that wait for an answer: bounded, each with a deadline, each answered exactly once.
 * All have the same timeout, so the order of insertion is the order of the deadlines and one timer serves them all.
 */
export class Outstanding<C extends Call> {
  readonly #calls = new Set<C>();
  readonly #timeoutMs: number;
  readonly #max: number;
  readonly #expired: (calls: readonly C[]) => void;
  #timer: NodeJS.Timeout | undefined;

  /** `expired` hears of the calls whose time is up, just before they are answered with `timeout`. */
  constructor(timeoutMs: number, max: number, expired: (calls: readonly C[]) => void) {
    this.#timeoutMs = timeoutMs;
    this.#max = max;
    this.#expired = expired;
  }

  get full(): boolean {
    return this.#calls.size >= this.#max;
  }

  get size(): number {
    return this.#calls.size;
  }

  deadlineMs(): number {
    return performance.now() + this.#timeoutMs;
  }

  add(call: C): void {
    this.#calls.add(call);
    this.#timer ??= setTimeout(this.#sweep, this.#timeoutMs);
  }

  /** Answers a call, unless it has its answer already. */
  settle(call: C, fault: StoreFault | undefined, reply: Reply): void {
    if (this.#calls.delete(call)) call.done(fault, reply);
  }

  failAll(fault: StoreFault): void {
    for (const call of this.#calls) this.settle(call, fault, null);
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  readonly #sweep = (): void => {
    this.#timer = undefined;
    const nowMs = performance.now();
    const late: C[] = [];
    for (const call of this.#calls) {
      // Timers may fire up to a millisecond early.
      if (call.deadlineMs > nowMs + 1) {
        this.#timer = setTimeout(this.#sweep, Math.ceil(call.deadlineMs - nowMs));
        break;
      }
      late.push(call);
    }
    if (late.length === 0) return;
    this.#expired(late);
    const fault: StoreFault = { code: 'timeout', text: `no reply within ${this.#timeoutMs} ms` };
    for (const call of late) this.settle(call, fault, null);
  };
}
