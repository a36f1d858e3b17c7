import type { LiveOverview } from '../api.ts';
import { TimeChart } from '../chart.ts';
import { h, segmented, setText, show } from '../dom.ts';
import { ago, bytes, count, latency, percent, plural, rate } from '../format.ts';
import { sparkline } from '../marks.ts';
import { type Pace, paces, sum } from '../pace.ts';
import type { OpenView } from '../shell.ts';
import { type Range, RANGES, SHORTEST_RANGE } from '../../ranges.ts';
import { FailingTable } from './failing-table.ts';
import { LocationTable } from './location-table.ts';
import { partCards } from './parts.ts';

/** Returns notices about conditions that need attention. */
function notices({ gateway, configuration, nowMs }: LiveOverview): readonly HTMLElement[] {
  const { isNewest, loadedMs, findings } = configuration;
  const told: HTMLElement[] = [];
  if (gateway.draining)
    told.push(notice('failed', 'The gateway is about to stop: it finishes what it has begun.'));
  if (!isNewest) {
    const text = `The last reload was refused: the configuration loaded ${ago(loadedMs, nowMs)} goes on. See the log.`;
    told.push(notice('failed', text));
  }
  if (findings.warn > 0) {
    const link = h('a', { href: '#config' }, 'the configuration');
    told.push(notice('refused', `The load left ${plural(findings.warn, 'warning')}: see `, link, '.'));
  }
  return told;
}

function notice(tone: string, ...content: readonly (string | Node)[]): HTMLElement {
  return h('p', { class: `notice ${tone}` }, ...content);
}

const SERVER_ERRORS = 4;
const CLIENT_ERRORS = 3;

const HASH = '#overview';

/** Returns the range that the address names. */
function rangeOfAddress(): Range {
  const [, name] = /^#overview\/(\w+)$/.exec(location.hash) ?? [];
  return RANGES.find((range) => range.name === name) ?? SHORTEST_RANGE;
}

/** Returns the choice of the range; the address keeps it. */
function rangeSwitch(live: LiveScope): HTMLElement {
  return segmented({
    legend: 'Time range',
    name: 'range',
    chosen: live.range.name,
    options: RANGES.map(({ name, label }) => [name, label]),
    choose: (name) => {
      const range = RANGES.find((each) => each.name === name) ?? SHORTEST_RANGE;
      history.replaceState(null, '', range === SHORTEST_RANGE ? HASH : `${HASH}/${range.name}`);
      live.show(range);
    },
  });
}

type LiveScope = Parameters<OpenView>[0]['live'];

/** The view with the current load and the parts of the gateway. */
export const openOverview: OpenView = ({ live, signal }) => {
  live.show(rangeOfAddress());
  const told = h('div', { class: 'notices' });
  const tiles = [
    new Tile('Requests', 'accent'),
    new Tile('Latency, p95', 'accent'),
    new Tile('Server errors', 'failed'),
    new Tile('Connections', 'accent'),
  ];
  const responses = responsesChart();
  const latencies = latencyChart();
  const failing = new FailingTable();
  const locations = new LocationTable();
  const parts = h('div', { class: 'cards' });
  const end = live.listen((seen) => {
    const shown = paces(seen.moments, seen.bounds);
    show(told, ...notices(seen));
    tellTiles(tiles, { shown, recent: paces(seen.latest, seen.bounds), seen });
    failing.update(seen);
    responses.update(shown, seen);
    latencies.update(shown, seen);
    locations.update(seen);
    show(parts, ...partCards(seen));
  });
  signal.addEventListener('abort', end);
  const element = h(
    'div',
    { class: 'stack' },
    told,
    h('div', { class: 'toolbar' }, rangeSwitch(live)),
    failing.element,
    h('div', { class: 'tiles' }, ...tiles.map((tile) => tile.element)),
    h('div', { class: 'charts' }, responses.element, latencies.element),
    locations.element,
    parts,
  );
  return { title: 'Overview', element };
};

/** A number with a detail and its recent history. */
class Tile {
  readonly element: HTMLElement;
  readonly #tone: string;
  readonly #value = h('b', {}, '–');
  readonly #detail = h('small');
  readonly #spark = h('div', { class: 'tile-spark' });

  constructor(name: string, tone: string) {
    this.#tone = tone;
    this.element = h(
      'section',
      { class: 'card tile' },
      h('h2', {}, name),
      this.#value,
      this.#detail,
      this.#spark,
    );
  }

  tell(value: string, { detail, line }: { detail: string; line: readonly number[] }): void {
    setText(this.#value, value);
    setText(this.#detail, detail);
    show(this.#spark, sparkline(line, line.some((value) => value > 0) ? this.#tone : 'other'));
  }
}

function tellTiles(
  tiles: readonly Tile[],
  { shown, recent, seen }: { shown: readonly Pace[]; recent: readonly Pace[]; seen: LiveOverview },
): void {
  const last = recent.at(-1);
  const [requests, late, errors, connections] = tiles;
  const failed = (pace: Pace): number => pace.classes[SERVER_ERRORS] ?? 0;
  const served = sum(recent.map((pace) => pace.requests));
  requests?.tell(`${rate(last?.requests ?? 0)}/s`, {
    detail: `${bytes(last?.bytes ?? 0)}/s sent · ${count(totalOf(seen))} in total`,
    line: shown.map((pace) => pace.requests),
  });
  late?.tell(latency(last?.p95), {
    detail:
      last?.p50 === undefined ? 'no requests' : `half within ${latency(last.p50)} · p99 ${latency(last.p99)}`,
    line: shown.map((pace) => pace.p95 ?? 0),
  });
  errors?.tell(percent(served > 0 ? sum(recent.map(failed)) / served : 0), {
    detail: `${rate(last?.classes[CLIENT_ERRORS] ?? 0)}/s refused with 4xx`,
    line: shown.map(failed),
  });
  connections?.tell(count(last?.connections ?? 0), {
    detail: `${bytes(seen.gateway.residentBytes)} memory · ${seen.gateway.cpuSeconds.toFixed(1)} s CPU`,
    line: shown.map((pace) => pace.connections),
  });
}

function totalOf({ latest }: LiveOverview): number {
  return sum(latest.at(-1)?.classes ?? []);
}

function responsesChart(): TimeChart {
  const series = [
    ['1xx', 'other'],
    ['2xx', 'ok'],
    ['3xx', 'moved'],
    ['4xx', 'refused'],
    ['5xx', 'failed'],
  ] as const;
  return new TimeChart({
    title: 'Responses per second',
    stacked: true,
    least: 1,
    format: rate,
    series: series
      .map(([name, tone], index) => ({ name, tone, value: (pace: Pace) => pace.classes[index] }))
      .slice(1),
  });
}

function latencyChart(): TimeChart {
  return new TimeChart({
    title: 'Latency',
    least: 0.001,
    format: latency,
    series: [
      { name: 'p50', tone: 'soft', value: ({ p50 }) => p50 },
      { name: 'p95', tone: 'accent', value: ({ p95 }) => p95 },
      { name: 'p99', tone: 'refused', value: ({ p99 }) => p99 },
    ],
  });
}
