import type { Counter, Counters, Histogram, Labels } from '../zone/index.ts';

export const REQUESTS = { name: 'gw_upstream_requests_total', help: 'Requests that were given to a peer.' };
export const FAILURES = { name: 'gw_upstream_failures_total', help: 'Requests that failed with a peer.' };
export const TIME = {
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

export const STICKY = {
  name: 'gw_upstream_sticky_total',
  help: 'Requests of a sticky group: bound to the peer that they got, moved to another one, or new.',
};

/** How a sticky group found the peer of a request. */
export type StickyResult = 'bound' | 'moved' | 'new';

/** Counts how the requests of a sticky group find their peers. */
export class StickyMeter {
  readonly #metrics: Counters;
  readonly #upstream: string;
  readonly #counters = new Map<StickyResult, Counter>();

  constructor(metrics: Counters, upstream: string) {
    this.#metrics = metrics;
    this.#upstream = upstream;
  }

  count(result: StickyResult): void {
    const counter =
      this.#counters.get(result) ?? this.#metrics.counter(STICKY, { upstream: this.#upstream, result });
    this.#counters.set(result, counter);
    counter.add();
  }
}
