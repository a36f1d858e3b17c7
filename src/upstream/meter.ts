import type { Counter, Counters, Histogram } from '../zone/index.ts';

const REQUESTS = { name: 'gw_upstream_requests_total', help: 'Requests that were given to a peer.' };
const FAILURES = { name: 'gw_upstream_failures_total', help: 'Requests that failed with a peer.' };
const TIME = {
  name: 'gw_upstream_response_seconds',
  help: 'Time from giving a request to a peer until it was done with.',
  scale: 'seconds',
} as const;

/** Counts what one peer is given. */
export class PeerMeter {
  readonly #requests: Counter;
  readonly #failures: Counter;
  readonly #time: Histogram;

  constructor(metrics: Counters, labels: { readonly upstream: string; readonly peer: string }) {
    this.#requests = metrics.counter(REQUESTS, labels);
    this.#failures = metrics.counter(FAILURES, labels);
    this.#time = metrics.histogram(TIME, labels);
  }

  given(): void {
    this.#requests.add();
  }

  done(seconds: number, isFailure: boolean): void {
    this.#time.observe(seconds);
    if (isFailure) this.#failures.add();
  }
}
