import { DATA_PATHS, type Route, type RouteMatch, type RouteServer, type RouteTree } from '../../contract.ts';
import { read, type LiveOverview } from '../api.ts';
import { h, primaryButton, setText, show, textInput } from '../dom.ts';
import { ago, count } from '../format.ts';
import { chip, empty } from '../marks.ts';
import type { OpenView } from '../shell.ts';

/** Returns a form that shows which location would serve a URL; `found` is called with the key of the location. */
function urlTester(found: (key: string | undefined) => void): HTMLElement {
  const url = textInput('URL or path', { 'data-first': true, value: `${location.origin}/` });
  const verdict = h('div', { class: 'verdict', 'aria-live': 'polite' });
  const test = (event: Event): void => {
    event.preventDefault();
    read<RouteMatch>(DATA_PATHS.explain, { url: withoutMethod(url.value) }).then(
      (match) => {
        show(verdict, ...describe(match));
        found('refusal' in match ? undefined : `${match.server}\n${match.location.text}`);
      },
      (error: unknown) => {
        show(verdict, h('p', { class: 'notice refused' }, (error as Error).message));
        found(undefined);
      },
    );
  };
  return h(
    'section',
    { class: 'card' },
    h(
      'header',
      { class: 'card-head' },
      h('h2', {}, 'Who answers?'),
      h('span', { class: 'quiet' }, 'decided by the compiled locations; nothing is sent'),
    ),
    h('form', { class: 'line', onsubmit: test }, url, primaryButton('Test')),
    verdict,
  );
}

/** Removes the method: logs contain `GET /path`, and locations do not depend on the method. */
function withoutMethod(text: string): string {
  return text.trim().replace(/^[A-Z]+\s+/, '');
}

function describe(match: RouteMatch): readonly Node[] {
  if ('refusal' in match) return [h('p', { class: 'notice refused' }, `Nothing: ${match.refusal}.`)];
  const { address, server, byDefault, uri, regexes, location: at } = match;
  const where = at.kind === 'server' ? 'the server itself' : at.text;
  const steps = [
    step('listens', h('code', {}, address)),
    step('server', h('code', {}, server), byDefault && chip('default')),
    step('path', h('code', {}, uri)),
    ...regexes.filter((regex) => regex !== at.text).map((regex) => step('regex', h('code', {}, regex))),
    step('location', h('code', {}, where), at.internal && chip('internal: 404 from outside', 'refused')),
    step(
      'answered by',
      at.answeredBy === undefined ? chip('files') : h('code', { class: 'strong' }, at.answeredBy),
      h('small', {}, at.place),
    ),
  ];
  return [h('ol', { class: 'steps' }, ...steps)];
}

function step(name: string, ...content: readonly (Node | false)[]): HTMLElement {
  return h('li', {}, h('small', {}, name), h('span', {}, ...content));
}

/** The elements of one location that are updated. */
interface RouteRow {
  readonly key: string;
  readonly element: HTMLElement;
  readonly hits: HTMLElement;
  readonly last: HTMLElement;
  readonly isCounted: boolean;
}

/** The view of servers and locations in the order in which they are tried, with the form for URLs. */
export const openRoutes: OpenView = ({ live, signal }) => {
  const trees = h('div', { class: 'stack' });
  const rows: RouteRow[] = [];
  const tester = urlTester((key) => {
    for (const row of rows) row.element.classList.toggle('found', row.key === key);
    rows.find((row) => row.key === key)?.element.scrollIntoView({ block: 'nearest' });
  });
  read<RouteTree>(DATA_PATHS.routes, {}, signal).then(
    ({ servers }) => {
      show(trees, ...servers.map((server) => serverCard(server, rows)));
      signal.addEventListener(
        'abort',
        live.listen((seen) => tellHits(rows, seen)),
      );
    },
    (error: unknown) => show(trees, empty('The routes cannot be shown', (error as Error).message)),
  );
  return { title: 'Routes', element: h('div', { class: 'stack' }, tester, trees) };
};

function serverCard(server: RouteServer, rows: RouteRow[]): HTMLElement {
  const { label, names, listens, root } = server;
  const title = names.length > 0 ? names.join(', ') : 'a server without a name';
  return h(
    'section',
    { class: 'card' },
    h(
      'header',
      { class: 'card-head' },
      h('h2', {}, title),
      h(
        'span',
        { class: 'chips' },
        ...listens.map(({ address, isDefault }) => chip(isDefault ? `${address} · default` : address)),
      ),
    ),
    h(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Locations of ${title}` },
      h(
        'table',
        { class: 'routes' },
        h(
          'thead',
          {},
          h('tr', {}, ...['Location', 'Answered by', 'Requests', 'Last hit', 'Declared'].map(columnHead)),
        ),
        h('tbody', {}, ...routeRows(root, { label, depth: 0, rows })),
      ),
    ),
  );
}

function columnHead(name: string): HTMLElement {
  return h('th', { scope: 'col', class: name === 'Requests' ? 'number' : undefined }, name);
}

interface Drawing {
  readonly label: string;
  readonly depth: number;
  readonly rows: RouteRow[];
}

function routeRows(route: Route, { label, depth, rows }: Drawing): readonly HTMLElement[] {
  const row = routeRow(route, { label, depth });
  rows.push(row);
  return [
    row.element,
    ...route.locations.flatMap((inner) => routeRows(inner, { label, depth: depth + 1, rows })),
  ];
}

function routeRow(route: Route, { label, depth }: Omit<Drawing, 'rows'>): RouteRow {
  const { text, place, answeredBy, internal, kind } = route;
  const isCounted = answeredBy !== UNCOUNTED;
  const hits = h('td', { class: isCounted ? 'number' : 'number quiet' }, isCounted ? '0' : 'not counted');
  const last = h('td', { class: 'quiet' }, '–');
  const name = h(
    'th',
    { scope: 'row', class: `depth-${Math.min(depth, 5)}` },
    h('code', {}, kind === 'server' ? 'server' : text),
  );
  if (internal) name.append(chip('internal'));
  const by =
    answeredBy === undefined
      ? h(
          'span',
          { class: 'quiet' },
          kind === 'server' && route.locations.length > 0 ? 'its locations' : 'files',
        )
      : h('code', {}, answeredBy);
  const element = h('tr', {}, name, h('td', {}, by), hits, last, h('td', { class: 'quiet' }, place));
  return { key: `${label}\n${text}`, element, hits, last, isCounted };
}

/** Requests for the console itself are not counted. */
const UNCOUNTED = 'control_console';

function tellHits(rows: readonly RouteRow[], { locations, nowMs }: LiveOverview): void {
  const byKey = new Map(locations.map((location) => [`${location.server}\n${location.location}`, location]));
  for (const { key, hits, last, element, isCounted } of rows) {
    if (!isCounted) continue;
    const load = byKey.get(key);
    setText(hits, count(load?.requests ?? 0));
    setText(last, load?.lastHitMs === undefined ? '–' : ago(load.lastHitMs, nowMs));
    element.classList.toggle('unused', !load);
  }
}
