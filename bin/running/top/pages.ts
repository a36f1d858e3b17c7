import type { CacheFacts, LocationFacts, PeerFacts, StoreFacts, TopFacts, WorkerFacts } from './facts.ts';
import type { StatementFacts } from './statements.ts';

/** A cell of a table: its text, the number or text that it is sorted by, and whether it is a reason to look. */
interface Cell {
  readonly text: string;
  readonly order: number | string;
  readonly tone?: 'bad' | 'poor';
}

/** One row: a name, which takes the room that the cells leave, and the cells. */
export interface TopRow {
  readonly name: string;
  readonly cells: readonly Cell[];
}

/** One of the tables, which a digit chooses. */
interface TopPage {
  readonly title: string;
  /** The heading of the names, followed by those of the cells. */
  readonly columns: readonly string[];
  /** The column that rows are sorted by first; 0 is the name. */
  readonly sortBy: number;
  rows(facts: TopFacts): readonly TopRow[];
  /** Says why there are no rows, if it is known. */
  hint?(facts: TopFacts): string | undefined;
}

const NONE: Cell = { text: '-', order: -1 };

const rate = (perSecond: number): Cell => ({
  text: perSecond >= 100 ? perSecond.toFixed(0) : perSecond.toFixed(1),
  order: perSecond,
});

const faults = (perSecond: number, tone: 'bad' | 'poor'): Cell =>
  perSecond > 0 ? { ...rate(perSecond), tone } : { text: '0', order: 0 };

const number = (value: number, tone?: 'bad' | 'poor'): Cell => ({
  text: String(value),
  order: value,
  ...(tone && value > 0 && { tone }),
});

const part = (value: number | undefined): Cell =>
  value === undefined ? NONE : { text: `${(value * 100).toFixed(0)} %`, order: value };

/** Formats a time with three digits: `840 µs`, `1.25 ms`, `12.5 s`. */
export function timeText(seconds: number | undefined): string {
  if (seconds === undefined) return '-';
  const [value, unit] =
    seconds < 0.001 ? [seconds * 1e6, 'µs'] : seconds < 1 ? [seconds * 1e3, 'ms'] : [seconds, 's'];
  return `${value.toPrecision(3).includes('e') ? value.toFixed(0) : Number(value.toPrecision(3))} ${unit}`;
}

/** Formats a size: `12.5 MB`. */
export function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const step = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** step;
  return `${step === 0 ? value.toFixed(0) : value.toFixed(1)} ${units[step]}`;
}

const time = (seconds: number | undefined): Cell =>
  seconds === undefined ? NONE : { text: timeText(seconds), order: seconds };

const size = (bytes: number): Cell => ({ text: sizeText(bytes), order: bytes });

/** From this lag on, requests wait noticeably. */
const POOR_LAG_SECONDS = 0.1;

const locationRow = (facts: LocationFacts): TopRow => ({
  name: `${facts.server} ${facts.location || '-'}`,
  cells: [
    rate(facts.perSecond),
    time(facts.p50),
    time(facts.p95),
    time(facts.p99),
    faults(facts.clientErrorsPerSecond, 'poor'),
    faults(facts.serverErrorsPerSecond, 'bad'),
  ],
});

const workerRow = ({ id, cpu, lagSeconds, heapBytes, restarts }: WorkerFacts): TopRow => ({
  name: id,
  cells: [
    part(cpu),
    { ...time(lagSeconds), ...(lagSeconds >= POOR_LAG_SECONDS && { tone: 'poor' as const }) },
    size(heapBytes),
    number(restarts, 'poor'),
  ],
});

const storeRow = ({ name, perSecond, failuresPerSecond, pool, ...facts }: StoreFacts): TopRow => ({
  name,
  cells: [
    rate(perSecond),
    time(facts.p50),
    time(facts.p95),
    time(facts.p99),
    pool ? { text: `${pool.available}/${pool.max}`, order: pool.available } : NONE,
    pool ? number(pool.waiting, 'poor') : NONE,
    faults(failuresPerSecond, 'bad'),
  ],
});

const peerRow = ({ upstream, peer, up, ...facts }: PeerFacts): TopRow => ({
  name: upstream === peer ? peer : `${upstream} ${peer}`,
  cells: [
    up === undefined ? NONE : { text: up ? 'yes' : 'no', order: up ? 1 : 0, ...(!up && { tone: 'bad' }) },
    rate(facts.perSecond),
    faults(facts.failuresPerSecond, 'bad'),
    time(facts.p50),
    time(facts.p95),
    time(facts.p99),
  ],
});

const cacheRow = ({ zone, perSecond, hits, entries, bytes, maxBytes }: CacheFacts): TopRow => ({
  name: zone,
  cells: [
    rate(perSecond),
    part(hits),
    number(entries),
    size(bytes),
    maxBytes === 0 ? NONE : { text: `${((bytes / maxBytes) * 100).toFixed(0)} %`, order: bytes / maxBytes },
  ],
});

const statementRow = (facts: StatementFacts): TopRow => ({
  name: `${facts.location} ${facts.sql}`,
  cells: [
    rate(facts.perSecond),
    number(facts.calls),
    number(facts.errors, 'poor'),
    time(facts.meanSeconds),
    time(facts.maxSeconds),
    part(facts.share),
  ],
});

const TIMES = ['P50', 'P95', 'P99'];

/** The pages, by their digits from 1. */
export const PAGES: readonly TopPage[] = [
  {
    title: 'locations',
    columns: ['LOCATION', 'REQ/S', ...TIMES, '4XX/S', '5XX/S'],
    sortBy: 1,
    rows: ({ locations }) => locations.map(locationRow),
  },
  {
    title: 'workers',
    columns: ['WORKER', 'CPU', 'LAG', 'HEAP', 'RESTARTS'],
    sortBy: 0,
    rows: ({ workers }) => workers.map(workerRow),
  },
  {
    title: 'stores',
    columns: ['STATEMENTS AND COMMANDS', 'REQ/S', ...TIMES, 'FREE', 'WAIT', 'FAIL/S'],
    sortBy: 4,
    rows: ({ stores }) => stores.map(storeRow),
  },
  {
    title: 'upstreams',
    columns: ['PEER', 'UP', 'REQ/S', 'FAIL/S', ...TIMES],
    sortBy: 2,
    rows: ({ upstreams }) => upstreams.map(peerRow),
  },
  {
    title: 'caches',
    columns: ['CACHE', 'REQ/S', 'HITS', 'ENTRIES', 'SIZE', 'FULL'],
    sortBy: 1,
    rows: ({ caches }) => caches.map(cacheRow),
  },
  {
    title: 'statements',
    columns: ['STATEMENT', 'CALLS/S', 'CALLS', 'FAIL', 'MEAN', 'MAX', 'TIME'],
    sortBy: 6,
    rows: ({ statements = [] }) => statements.map(statementRow),
    hint: ({ statements }) =>
      statements ? undefined : 'to see them, add "location = /statements { control_api statements; }"',
  },
];

/** Returns the rows sorted by a column: names and numbered names upwards, all else downwards. */
export function sortedRows(rows: readonly TopRow[], column: number): readonly TopRow[] {
  const byName = (a: TopRow, b: TopRow): number => a.name.localeCompare(b.name, 'en', { numeric: true });
  if (column === 0) return rows.toSorted(byName);
  const orderOf = (row: TopRow): number | string => row.cells[column - 1]?.order ?? -1;
  return rows.toSorted((a, b) => {
    const [first, second] = [orderOf(a), orderOf(b)];
    if (first === second) return byName(a, b);
    return first < second ? 1 : -1;
  });
}
