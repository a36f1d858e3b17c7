import type { MetricFamily, MetricSample } from '../zone/index.ts';
import { BALANCER_EVENTS, type KeyEvent } from './key-meter.ts';
import { FAILURES, REQUESTS, STICKY, type StickyResult, TIME } from './peer-meter.ts';

/** What a peer has done since the start, over all workers. */
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

  /** What `upstream_balancer_…` has counted for a group. */
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
