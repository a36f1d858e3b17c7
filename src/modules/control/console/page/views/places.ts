import type { PlaceLoad } from '../../contract.ts';
import { quantile } from '../pace.ts';
import { h, type Row, Rows, setText, show } from '../dom.ts';
import { ago, count, latency, rate } from '../format.ts';
import type { Seen } from '../api.ts';
import { codeBar, empty, sparkline } from '../marks.ts';

interface Shown {
  readonly place: PlaceLoad;
  readonly seen: Seen;
}

const COLUMNS = ['Location', 'Per second', '', 'p50', 'p95', 'p99', 'Answers', 'Last hit'];

/** Every location that somebody has asked for, the busiest first. */
export class PlaceTable {
  readonly #body = h('tbody');
  readonly #none = empty('No requests yet', 'Locations show here as soon as somebody asks for them.');
  readonly #table = h(
    'table',
    { class: 'places' },
    h('thead', {}, h('tr', {}, ...COLUMNS.map((name, index) => head(name, index)))),
    this.#body,
  );
  readonly #rows = new Rows<Shown>(this.#body, ({ place }) => `${place.server}\n${place.location}`, placeRow);
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

  update(seen: Seen): void {
    const places = seen.places.toSorted(
      (a, b) =>
        b.recent.requests - a.recent.requests ||
        b.requests - a.requests ||
        (a.location < b.location ? -1 : 1),
    );
    this.#table.hidden = places.length === 0;
    this.#none.hidden = places.length > 0;
    this.#rows.update(places.map((place) => ({ place, seen })));
  }
}

function head(name: string, index: number): HTMLElement {
  const isNumber = index === 1 || (index > 2 && index < 6);
  return h('th', { scope: 'col', class: isNumber ? 'number' : undefined }, name);
}

function placeRow({ place: { server, location } }: Shown): Row<Shown> {
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
    update({ place, seen: { bounds, nowMs } }) {
      const { recent, tens, requests, lastHitMs } = place;
      setText(perSecond, rate(recent.requests / recent.seconds));
      show(spark, sparkline(tens));
      for (const { q, cell } of latencies) setText(cell, latency(quantile(recent.buckets, bounds, q)));
      show(codes, codeBar(recent.requests > 0 ? recent.codes : place.codes));
      setText(last, lastHitMs === undefined ? `${count(requests)} earlier` : ago(lastHitMs, nowMs));
    },
  };
}
