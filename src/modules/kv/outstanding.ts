import type { Done, Reply, StoreFault } from './commands.ts';

/** The clock of `performance.now()`, read once per turn of the event loop: accurate enough for timeouts. */
class TickClock {
  #nowMs: number | undefined;

  nowMs(): number {
    if (this.#nowMs === undefined) {
      this.#nowMs = performance.now();
      setImmediate(this.#forget);
    }
    return this.#nowMs;
  }

  readonly #forget = (): void => {
    this.#nowMs = undefined;
  };
}

/** One command that waits for its reply, as an element of a list. */
export class Call {
  readonly done: Done;
  /** On the clock of `performance.now()`. */
  readonly deadlineMs: number;
  /** False before it is added and after it is settled. */
  waits = false;
  older: Call | undefined = undefined;
  newer: Call | undefined = undefined;

  constructor(done: Done, deadlineMs: number) {
    this.done = done;
    this.deadlineMs = deadlineMs;
  }
}

/**
 * The commands of one store that wait for their replies: bounded, each with a deadline, each settled exactly once. All
 * have the same timeout, so they are ordered by deadline and one timer serves them all. They form a linked list because
 * there is one per request.
 */
export class Outstanding<C extends Call> {
  readonly clock = new TickClock();
  readonly #timeoutMs: number;
  readonly #max: number;
  readonly #expired: (calls: readonly C[]) => void;
  #oldest: Call | undefined;
  #newest: Call | undefined;
  #size = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `expired` is called with the calls whose deadline has passed, just before they are settled with `timeout`. */
  constructor(timeoutMs: number, max: number, expired: (calls: readonly C[]) => void) {
    this.#timeoutMs = timeoutMs;
    this.#max = max;
    this.#expired = expired;
  }

  get full(): boolean {
    return this.#size >= this.#max;
  }

  get size(): number {
    return this.#size;
  }

  deadlineMs(): number {
    return this.clock.nowMs() + this.#timeoutMs;
  }

  add(call: C): void {
    call.waits = true;
    call.older = this.#newest;
    if (this.#newest) this.#newest.newer = call;
    else this.#oldest = call;
    this.#newest = call;
    this.#size++;
    this.#timer ??= setTimeout(this.#sweep, this.#timeoutMs);
  }

  /** Settles a call unless it is settled already. */
  settle(call: Call, fault: StoreFault | undefined, reply: Reply): void {
    if (!call.waits) return;
    this.#remove(call);
    call.done(fault, reply);
  }

  failAll(fault: StoreFault): void {
    while (this.#oldest) this.settle(this.#oldest, fault, null);
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #remove(call: Call): void {
    const { older, newer } = call;
    if (older) older.newer = newer;
    else this.#oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
    call.waits = false;
    call.older = undefined;
    call.newer = undefined;
    this.#size--;
  }

  readonly #sweep = (): void => {
    this.#timer = undefined;
    const nowMs = performance.now();
    const late: C[] = [];
    // Timers may fire up to a millisecond early.
    while (this.#oldest && this.#oldest.deadlineMs <= nowMs + 1) {
      late.push(this.#oldest as C);
      this.#remove(this.#oldest);
    }
    if (this.#oldest) {
      this.#timer = setTimeout(this.#sweep, Math.ceil(this.#oldest.deadlineMs - nowMs));
    }
    if (late.length === 0) return;
    this.#expired(late);
    const fault: StoreFault = { code: 'timeout', text: `no reply within ${this.#timeoutMs} ms` };
    for (const call of late) call.done(fault, null);
  };
}
