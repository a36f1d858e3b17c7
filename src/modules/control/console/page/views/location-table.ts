import type { LocationLoad } from '../../contract.ts';
import { quantile, sum } from '../pace.ts';
import { h, type Row, Rows, setText, show } from '../dom.ts';
import { ago, count, latency, rate } from '../format.ts';
import type { LiveOverview } from '../api.ts';
import { codeBar, empty, sparkline } from '../marks.ts';

interface LocationRow {
  readonly load: LocationLoad;
  readonly seen: LiveOverview;
}

const COLUMNS = ['Location', 'Per second', '', 'p50', 'p95', 'p99', 'Responses', 'Last hit'];

/** The table of locations that have had requests: those that fail first, then the busiest. */
export class LocationTable {
  readonly #body = h('tbody');
  readonly #none = empty('No requests yet', 'Locations are listed here after their first request.');
  readonly #table = h(
    'table',
    { class: 'load' },
    h('thead', {}, h('tr', {}, ...COLUMNS.map((name, index) => head(name, index)))),
    this.#body,
  );
  readonly #rows = new Rows<LocationRow>(
    this.#body,
    ({ load }) => `${load.server}\n${load.location}`,
    locationRow,
  );
  readonly element = h(
    'section',
    { class: 'card' },
    h(
      'header',
      { class: 'card-head' },
      h('h2', {}, 'By location'),
      h('span', { class: 'quiet' }, 'the last minute'),
    ),
    h(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Requests by location' },
      this.#table,
      this.#none,
    ),
  );

  update(seen: LiveOverview): void {
    const locations = seen.locations.toSorted(
      (a, b) =>
        failedShare(b) - failedShare(a) ||
        b.recent.requests - a.recent.requests ||
        b.requests - a.requests ||
        (a.location < b.location ? -1 : 1),
    );
    this.#table.hidden = locations.length === 0;
    this.#none.hidden = locations.length > 0;
    this.#rows.update(locations.map((load) => ({ load, seen })));
  }
}

/** Returns the share of 5xx in the last minute. */
function failedShare({ recent }: LocationLoad): number {
  const failed = Object.entries(recent.codes).filter(([code]) => code.startsWith('5'));
  return failed.length === 0 ? 0 : sum(failed.map(([, times]) => times)) / recent.requests;
}

function head(name: string, index: number): HTMLElement {
  const isNumber = index === 1 || (index > 2 && index < 6);
  return h('th', { scope: 'col', class: isNumber ? 'number' : undefined }, name);
}

function locationRow({ load: { server, location } }: LocationRow): Row<LocationRow> {
  const [perSecond, spark, codes, last] = [
    h('td', { class: 'number' }),
    h('td'),
    h('td'),
    h('td', { class: 'quiet' }),
  ];
  const latencies = [0.5, 0.95, 0.99].map((q) => ({ q, cell: h('td', { class: 'number' }) }));
  const note = location === '' ? `${server} · no location matched` : server;
  const name = h(
    'th',
    { scope: 'row' },
    h('code', {}, location === '' ? 'server' : location),
    h('small', {}, note),
  );
  const cells = [name, perSecond, spark, ...latencies.map(({ cell }) => cell), codes, last];
  return {
    element: h('tr', {}, ...cells),
    update({ load, seen: { bounds, nowMs } }) {
      const { recent, tens, requests, lastHitMs } = load;
      setText(perSecond, rate(recent.requests / recent.seconds));
      show(spark, sparkline(tens));
      for (const { q, cell } of latencies) setText(cell, latency(quantile(recent.buckets, bounds, q)));
      show(codes, codeBar(recent.requests > 0 ? recent.codes : load.codes));
      setText(last, lastHitMs === undefined ? `${count(requests)} earlier` : ago(lastHitMs, nowMs));
    },
  };
}
