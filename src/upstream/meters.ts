import type {
  Counter,
  Counters,
  Histogram,
  Labels,
  MetricFamily,
  MetricSample,
  ObservedTrace,
} from '../zone/index.ts';
import type { Rejection } from './interfaces.ts';

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

  done(seconds: number, isFailure: boolean, trace?: ObservedTrace): void {
    const { time, failures } = this.#opened();
    time.observe(seconds, trace);
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

const STICKY = {
  name: 'gw_upstream_sticky_total',
  help: 'Requests of a sticky group: bound to the peer that they got, moved to another one, or new.',
};

/** How a sticky group found the peer of a request. */
type StickyResult = 'bound' | 'moved' | 'new';

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

const BALANCER_EVENTS = {
  name: 'gw_upstream_balancer_total',
  help: 'What became of requests that upstream_balancer_sticky_cookie or _header binds.',
} as const;

/** The counts of a group that binds requests by a key, named as in nginz. */
type KeyEvent =
  | 'request'
  | 'direct_hit'
  | 'direct_miss'
  | 'hash_hit'
  | 'key_absent'
  | 'fallback_next'
  | 'fallback_off'
  | 'cookie_issued'
  | 'cookie_rotated'
  | `rejected_${Rejection}`;

/** How a request was decided. */
interface KeyDecision {
  readonly key: string;
  readonly address: string;
  readonly isStrict: boolean;
  readonly isBound: boolean;
}

/** Counts the outcomes of the requests of one group. A series appears with its first event. */
export class KeyMeter {
  readonly #metrics: Counters;
  readonly #upstream: string;
  readonly #counters = new Map<KeyEvent, Counter>();

  constructor(metrics: Counters, upstream: string) {
    this.#metrics = metrics;
    this.#upstream = upstream;
  }

  /** Counts whether a request got the peer that it is bound to; `address`: it names one, else its key is hashed. */
  decided({ key, address, isStrict, isBound }: KeyDecision): void {
    this.count('request');
    if (key === '') this.count('key_absent');
    else if (isBound) this.count(address === '' ? 'hash_hit' : 'direct_hit');
    else if (address !== '') this.count('direct_miss');
    if (!isBound) this.count(isStrict ? 'fallback_off' : 'fallback_next');
  }

  count(event: KeyEvent): void {
    let counter = this.#counters.get(event);
    if (!counter) {
      counter = this.#metrics.counter(BALANCER_EVENTS, { upstream: this.#upstream, event });
      this.#counters.set(event, counter);
    }
    counter.add();
  }
}

/** The counts of a peer since the start, over all workers. */
interface PeerTotals {
  /** Times that it was selected. */
  readonly picks: number;
  readonly failures: number;
  /** Response times: not cumulative, with their upper bounds in seconds; absent before the first one. */
  readonly times?: { readonly buckets: readonly number[]; readonly bounds: readonly number[] };
}

/** The counters of all groups at one moment, from the metrics of all workers. */
export class LoadTotals {
  readonly #peers: ReadonlyMap<string, PeerTotals>;
  readonly #picks = new Map<string, number>();
  readonly #sticky: ReadonlyMap<string, number>;
  readonly #events: ReadonlyMap<string, number>;

  constructor(families: readonly MetricFamily[]) {
    const of = (metric: { readonly name: string }): readonly MetricSample[] =>
      families.find(({ name }) => name === metric.name)?.samples ?? [];
    const failures = valuesOf(of(FAILURES), 'peer');
    const times = new Map(of(TIME).map((sample) => [keyOf(sample, 'peer'), sample]));
    this.#peers = new Map(
      of(REQUESTS).map((sample) => {
        const key = keyOf(sample, 'peer');
        const { buckets, bounds } = times.get(key) ?? {};
        const picks = { picks: sample.value, failures: failures.get(key) ?? 0 };
        return [key, buckets && bounds ? { ...picks, times: { buckets, bounds } } : picks];
      }),
    );
    for (const { labels, value } of of(REQUESTS)) {
      const upstream = labels['upstream'] ?? '';
      this.#picks.set(upstream, (this.#picks.get(upstream) ?? 0) + value);
    }
    this.#sticky = valuesOf(of(STICKY), 'result');
    this.#events = valuesOf(of(BALANCER_EVENTS), 'event');
  }

  peer(upstream: string, address: string): PeerTotals {
    return this.#peers.get(`${upstream}\n${address}`) ?? { picks: 0, failures: 0 };
  }

  /** How often a peer of a group was selected; peers that have left it count. */
  picks(upstream: string): number {
    return this.#picks.get(upstream) ?? 0;
  }

  /** How many requests of a sticky group found their peers in this way. */
  sticky(upstream: string, result: StickyResult): number {
    return this.#sticky.get(`${upstream}\n${result}`) ?? 0;
  }

  /** Returns the counts of `upstream_balancer_…` for a group. */
  event(upstream: string, event: KeyEvent): number {
    return this.#events.get(`${upstream}\n${event}`) ?? 0;
  }
}

function valuesOf(samples: readonly MetricSample[], label: string): ReadonlyMap<string, number> {
  return new Map(samples.map((sample) => [keyOf(sample, label), sample.value]));
}

function keyOf({ labels }: MetricSample, label: string): string {
  return `${labels['upstream'] ?? ''}\n${labels[label] ?? ''}`;
}
