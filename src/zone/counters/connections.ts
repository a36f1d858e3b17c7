import type { Counter, Counters, Gauge, Metric } from './counters.ts';

/** nginx's counts of connections and requests, over all workers (nginx ngx_http_stub_status_module). */
export interface ConnectionTotals {
  readonly active: number;
  readonly accepted: number;
  readonly handled: number;
  readonly requests: number;
  /** Counted by the node engine only: uWebSockets.js reports a request when its head is complete. */
  readonly reading: number;
  /** Unfinished requests, including the one that reads this. */
  readonly writing: number;
  readonly waiting: number;
}

// The names of nginx's exporter, which dashboards use.
const ACCEPTED: Metric = {
  name: 'nginx_connections_accepted',
  help: 'Accepted client connections.',
  untyped: true,
};
const HANDLED: Metric = {
  name: 'nginx_connections_handled',
  help: 'Handled client connections.',
  untyped: true,
};
const REFUSED: Metric = {
  name: 'gw_connections_refused_total',
  help: 'Client connections closed at once: worker_connections or open files were not enough.',
};
const ACTIVE: Metric = { name: 'nginx_connections_active', help: 'Active client connections.' };
const READING: Metric = {
  name: 'nginx_connections_reading',
  help: 'Connections on which a request head is being read.',
};
const WRITING: Metric = {
  name: 'nginx_connections_writing',
  help: 'Connections on which a request is being served.',
};
const WAITING: Metric = { name: 'nginx_connections_waiting', help: 'Idle client connections.' };
const REQUESTS: Metric = { name: 'nginx_http_requests_total', help: 'HTTP requests that came in.' };
const UNREAD: Metric = {
  name: 'gw_connections_unread_total',
  help: 'Connections of uWebSockets.js that ended before their first request, by the end: closed (by the client, or by uWebSockets.js with 400, 431 or 505) or timeout.',
};
const UP: Metric = { name: 'nginx_up', help: '1 as long as the gateway runs.' };

/** The connection metrics of one worker, and their totals over all workers. */
export class Connections {
  readonly accepted: Counter;
  readonly handled: Counter;
  readonly refused: Counter;
  readonly requests: Counter;
  readonly unread: { readonly closed: Counter; readonly timeout: Counter };
  readonly active: Gauge;
  readonly reading: Gauge;
  readonly writing: Gauge;
  readonly #counters: Counters;

  constructor(counters: Counters) {
    this.#counters = counters;
    this.accepted = counters.counter(ACCEPTED);
    this.handled = counters.counter(HANDLED);
    this.refused = counters.counter(REFUSED);
    this.requests = counters.counter(REQUESTS);
    this.unread = {
      closed: counters.counter(UNREAD, { end: 'closed' }),
      timeout: counters.counter(UNREAD, { end: 'timeout' }),
    };
    this.active = counters.gauge(ACTIVE);
    this.reading = counters.gauge(READING);
    this.writing = counters.gauge(WRITING);
  }

  /** Returns the number of open client connections of all workers. */
  open(): number {
    return this.#total(this.active);
  }

  /** Counts a connection that ended before its first request. Returns true for the first one of all workers. */
  endedUnread(end: keyof Connections['unread']): boolean {
    this.unread[end].add();
    return this.#total(this.unread[end]) === 1;
  }

  totals(): ConnectionTotals {
    const [active, reading, writing] = [this.active, this.reading, this.writing].map((gauge) =>
      this.#total(gauge),
    ) as [number, number, number];
    return {
      active,
      accepted: this.#total(this.accepted),
      handled: this.#total(this.handled),
      requests: this.#total(this.requests),
      reading,
      writing,
      waiting: Math.max(0, active - reading - writing),
    };
  }

  /** Publishes the metrics that are derived from others. */
  publish(): void {
    this.#counters.collect('gauge', { metric: WAITING, read: () => this.totals().waiting });
    this.#counters.collect('gauge', { metric: UP, read: () => 1 });
  }

  #total(meter: Counter): number {
    return this.#counters.total(meter);
  }
}
