import type { Counter, Counters, Histogram, Labels } from '../zone/index.ts';

const REQUESTS = { name: 'gw_upstream_requests_total', help: 'Requests that were given to a peer.' };
const FAILURES = { name: 'gw_upstream_failures_total', help: 'Requests that failed with a peer.' };
const TIME = {
  name: 'gw_upstream_response_seconds',
  help: 'Time from giving a request to a peer until it was done with.',
  scale: 'seconds',
} as const;

interface Meters {
  readonly requests: Counter;
  readonly failures: Counter;
  readonly time: Histogram;
}

/**
 * Counts the requests of one peer. The metrics of a peer appear with its first request, since a configuration may have
 * thousands of peers.
 */
export class PeerMeter {
  readonly #metrics: Counters;
  readonly #labels: Labels;
  #meters: Meters | undefined;

  constructor(metrics: Counters, labels: { readonly upstream: string; readonly peer: string }) {
    this.#metrics = metrics;
    this.#labels = labels;
  }

  given(): void {
    this.#opened().requests.add();
  }

  done(seconds: number, isFailure: boolean): void {
    const { time, failures } = this.#opened();
    time.observe(seconds);
    if (isFailure) failures.add();
  }

  #opened(): Meters {
    return (this.#meters ??= {
      requests: this.#metrics.counter(REQUESTS, this.#labels),
      failures: this.#metrics.counter(FAILURES, this.#labels),
      time: this.#metrics.histogram(TIME, this.#labels),
    });
  }
}
