import type { Counter, Counters } from '../zone/index.ts';
import type { Rejection } from './selection.ts';

export const BALANCER_EVENTS = {
  name: 'gw_upstream_balancer_total',
  help: 'What became of requests that upstream_balancer_sticky_cookie or _header binds.',
} as const;

/** What is counted about the requests of a group that binds them by a key; the names are those of nginz. */
export type KeyEvent =
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

/** Counts what becomes of the requests of one group. A series appears when there is something to count. */
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
