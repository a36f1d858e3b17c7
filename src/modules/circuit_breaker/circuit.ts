import { monotonicMs, type RequestRates } from '../../zone/index.ts';

/** Time until the outcome of a request is recorded again, if the memory was locked. */
const RETRY_MS = 50;

/** `open`: requests are refused until its time is over; `half_open`: one at a time is admitted. */
type State = 'closed' | 'open' | 'half_open';
/** The decision of a circuit on a request. `half_open_busy`: another request is the trial; `busy`: the memory is locked. */
export type Admission = 'allow' | 'open' | 'half_open_busy' | 'busy';
export type Outcome = 'success' | 'failure' | 'unknown';

/** A request that was admitted. A trial has the time until which no other one is admitted. */
export interface Ticket {
  readonly trialUntilMs?: number;
}

/*
 * A circuit is one number in shared memory. If it is 0 or more, the circuit is closed, and it counts the failures in a
 * row. Below 0 the circuit is open or half open: the number is -1 - 2 * (successes in a row) - (1 during a trial), and
 * the time beside it is when the next request may pass.
 */
const OPEN = -1;
const notClosed = (successes: number, inTrial: boolean): number => OPEN - 2 * successes - (inTrial ? 1 : 0);
const isTrial = (value: number): boolean => (OPEN - value) % 2 === 1;
const successesIn = (value: number): number => (OPEN - value) >> 1;

/** Failures in a row that open a circuit, successes in a row that close it, and how long it is open. */
interface CircuitLimits {
  readonly failures: number;
  readonly successes: number;
  readonly timeoutMs: number;
}

/** The circuit of one location, over all workers. */
export class Circuit {
  readonly #rates: RequestRates;
  readonly #key: string;
  readonly #limits: CircuitLimits;
  readonly #nowMs: () => number;

  /** `key` identifies the circuit in shared memory. */
  constructor(
    rates: RequestRates,
    { key, ...limits }: CircuitLimits & { readonly key: string },
    nowMs: () => number = monotonicMs,
  ) {
    this.#rates = rates;
    this.#key = key;
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** `undefined` if the memory is locked. */
  get state(): State | undefined {
    return this.#locked(({ number: value, writtenMs }) => {
      if (value >= 0) return 'closed';
      return isTrial(value) || this.#nowMs() >= writtenMs ? 'half_open' : 'open';
    });
  }

  /** Admits a request, or returns the reason why it is refused. */
  admit(): Ticket | Exclude<Admission, 'allow'> {
    const admitted = this.#locked((rates): Ticket | Exclude<Admission, 'allow'> => {
      const { number: value, writtenMs } = rates;
      if (value >= 0) return {};
      const nowMs = this.#nowMs();
      if (nowMs < writtenMs) return isTrial(value) ? 'half_open_busy' : 'open';
      // If a worker dies, the outcome of its trial is never recorded: after this time, another trial may begin.
      const trialUntilMs = nowMs + this.#limits.timeoutMs;
      rates.number = notClosed(successesIn(value), true);
      rates.writtenMs = trialUntilMs;
      return { trialUntilMs };
    });
    return admitted ?? 'busy';
  }

  /** Records how an admitted request ended. Calls `changed` if that opens or closes the circuit. */
  settle(ticket: Ticket, outcome: Outcome, changed: (state: 'open' | 'closed') => void): void {
    const settled = this.#locked((rates) => {
      if (ticket.trialUntilMs === undefined) return this.#count(rates, outcome);
      const isCurrent = rates.number < 0 && isTrial(rates.number) && rates.writtenMs === ticket.trialUntilMs;
      return isCurrent ? this.#endTrial(rates, outcome) : 'same';
    });
    if (settled === undefined) setTimeout(() => this.settle(ticket, outcome, changed), RETRY_MS).unref();
    else if (settled !== 'same') changed(settled);
  }

  #count(rates: RequestRates, outcome: Outcome): 'open' | 'same' {
    // A request that began before the circuit opened does not count.
    if (rates.number < 0 || outcome === 'unknown') return 'same';
    if (outcome === 'failure' && rates.number + 1 >= this.#limits.failures) return this.#open(rates);
    rates.number = outcome === 'failure' ? rates.number + 1 : 0;
    rates.writtenMs = this.#nowMs();
    return 'same';
  }

  #endTrial(rates: RequestRates, outcome: Outcome): 'open' | 'closed' | 'same' {
    if (outcome === 'failure') return this.#open(rates);
    const successes = successesIn(rates.number) + (outcome === 'success' ? 1 : 0);
    const closes = successes >= this.#limits.successes;
    rates.number = closes ? 0 : notClosed(successes, false);
    rates.writtenMs = this.#nowMs();
    return closes ? 'closed' : 'same';
  }

  #open(rates: RequestRates): 'open' {
    rates.number = OPEN;
    rates.writtenMs = this.#nowMs() + this.#limits.timeoutMs;
    return 'open';
  }

  /** `undefined`: the lock could not be taken. */
  #locked<T>(act: (rates: RequestRates) => T): T | undefined {
    const rates = this.#rates;
    rates.choose(this.#key);
    if (!rates.acquire()) return undefined;
    try {
      return rates.find() ? act(rates) : undefined;
    } finally {
      rates.release();
    }
  }
}
