import type { FailingLocation } from '../../ranges.ts';
import type { LiveOverview } from '../api.ts';
import { h, type Row, Rows, setText, show } from '../dom.ts';
import { ago, clock, count, percent } from '../format.ts';

interface FailingRow {
  readonly failing: FailingLocation;
  readonly nowMs: number;
}

const COLUMNS = ['Location', '5xx', 'Responses', 'Failing'];

/** The table of locations with responses of 5xx; nothing is shown while there are none. */
export class FailingTable {
  readonly #body = h('tbody');
  readonly #words = h('span', { class: 'quiet' });
  readonly #rows = new Rows<FailingRow>(
    this.#body,
    ({ failing }) => `${failing.server}\n${failing.location}`,
    failingRow,
  );
  readonly #card = h(
    'section',
    { class: 'card failing', 'aria-label': 'Failing locations' },
    h('header', { class: 'card-head' }, h('h2', {}, 'Failing locations'), this.#words),
    h(
      'table',
      { class: 'fitting' },
      h(
        'thead',
        {},
        h('tr', {}, ...COLUMNS.map((name, at) => h('th', { scope: 'col', class: numberAt(at) }, name))),
      ),
      this.#body,
    ),
  );

  readonly element = h('div', { hidden: true });

  update({ failing, range, nowMs }: LiveOverview): void {
    const isNone = failing.length === 0;
    if (isNone !== this.element.hidden) show(this.element, !isNone && this.#card);
    this.element.hidden = isNone;
    setText(this.#words, range.words);
    this.#rows.update(failing.map((each) => ({ failing: each, nowMs })));
  }
}

function numberAt(column: number): string | undefined {
  return column === 1 || column === 2 ? 'number' : undefined;
}

function failingRow({ failing: { server, location } }: FailingRow): Row<FailingRow> {
  const share = h('td', { class: 'number' });
  const responses = h('td', { class: 'number' });
  const since = h('b');
  const note = h('small');
  const name = h(
    'th',
    { scope: 'row' },
    h('code', {}, location === '' ? 'server' : location),
    h('small', {}, server),
  );
  return {
    element: h('tr', {}, name, share, responses, h('td', {}, since, note)),
    update({ failing: { requests, errors, sinceMs, lastMs }, nowMs }) {
      setText(share, percent(errors / requests));
      setText(responses, `${count(errors)} of ${count(requests)}`);
      setText(since, sinceMs === undefined ? 'not now' : `since ${clock(sinceMs)}`);
      setText(note, sinceMs === undefined ? `last ${ago(lastMs, nowMs)}` : ago(sinceMs, nowMs));
    },
  };
}
