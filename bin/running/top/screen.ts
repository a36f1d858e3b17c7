import { cellOf } from '../../../grammar/index.ts';
import { duration } from '../../terminal.ts';
import type { TopFacts } from './facts.ts';
import { PAGES, sizeText, sortedRows, timeText, type TopRow } from './pages.ts';

/** What the screen shows, besides the facts. */
export interface TopView {
  /** Index of the page. */
  readonly page: number;
  /** The column by which each page is sorted. */
  readonly sortBy: readonly number[];
  /** Rows whose names contain this text, in any case; '' shows all. */
  readonly filter: string;
  readonly isTyping: boolean;
  readonly isPaused: boolean;
  readonly showsHelp: boolean;
  /** Where the gateway is asked. */
  readonly url: string;
  /** Why there was no response to the last question. */
  readonly fault?: string | undefined;
}

/** The room on the terminal; `color`: marks may be coloured. */
interface TopRoom {
  readonly columns: number;
  readonly lines: number;
  readonly color: boolean;
}

type Tone = 'bad' | 'poor' | 'head';
const CODES: Readonly<Record<Tone, string>> = { bad: '31', poor: '33', head: '7' };

const HELP = [
  '1 … 6     locations, workers, stores, upstreams, caches, statements',
  's         sort by the next column',
  '/         show only rows with a text in their name; Enter keeps it, Esc drops it',
  'p         pause; the gateway is not asked meanwhile',
  '?         this help',
  'q         quit',
  '',
  'Rates and quantiles are those of the last interval; times of streams end with their heads.',
  'Statements: calls a second are those of the last interval, all else is since the start.',
];

/** Returns the lines of the screen, none longer than the terminal is wide. Facts are absent before the first response. */
export function screenLines(
  facts: TopFacts | undefined,
  view: TopView,
  { columns, lines, color }: TopRoom,
): readonly string[] {
  const paint: Paint = (text, tone) => (color && tone ? `\u001b[${CODES[tone]}m${text}\u001b[0m` : text);
  const top = [...headLines(facts, view), tabsOf(view)].map((line) => cut(line, columns));
  const head = top.map((line, nth) => (nth === 0 && view.fault !== undefined ? paint(line, 'bad') : line));
  const room = Math.max(0, lines - head.length - 1);
  const body = view.showsHelp
    ? HELP.map((line) => cut(line, columns)).slice(0, room)
    : facts
      ? tableLines(facts, view, { columns, lines: room, paint })
      : [];
  const rest = Array.from({ length: Math.max(0, room - body.length) }, () => '');
  return [...head, ...body, ...rest, cut(footOf(view), columns)].slice(0, lines);
}

type Paint = (text: string, tone: Tone | undefined) => string;

function headLines(facts: TopFacts | undefined, { url, fault, isPaused }: TopView): readonly string[] {
  if (!facts) return [fault === undefined ? `asking ${url}` : `${fault}; asking again`, '', ''];
  const { requests, connections, process } = facts;
  const files = process.mostOpenFiles > 0 ? ` · files ${process.openFiles} of ${process.mostOpenFiles}` : '';
  const state = isPaused ? ' · paused' : facts.reloadSuccessful ? '' : ' · a reload was refused';
  return [
    fault === undefined
      ? `gw ${facts.version} · up ${duration(facts.uptimeSeconds)} · ${url}${state}`
      : `${fault}; asking again`,
    `requests ${requests.perSecond.toFixed(1)}/s · p50 ${timeText(requests.p50)} · p95 ${timeText(requests.p95)} · p99 ${timeText(requests.p99)} · 5xx ${requests.serverErrorsPerSecond.toFixed(1)}/s`,
    `connections ${connections.active} · CPU ${(process.cpu * 100).toFixed(0)} % · memory ${sizeText(process.residentBytes)}${files}`,
  ];
}

function tabsOf({ page, filter }: TopView): string {
  const tabs = PAGES.map(({ title }, nth) => {
    if (nth === page) return `[${nth + 1} ${title}]`;
    // The filter needs the room.
    return filter === '' ? ` ${nth + 1} ${title} ` : ` ${nth + 1} `;
  });
  return `${tabs.join('')}${filter === '' ? '' : `  only "${filter}"`}`;
}

function footOf({ isTyping, filter, page, sortBy }: TopView): string {
  if (isTyping) return `/${filter}`;
  const column = PAGES[page]?.columns[sortBy[page] ?? 0] ?? '';
  return `q quit  p pause  s sort: ${column}  1-6 page  / filter  ? help`;
}

interface TableRoom {
  readonly columns: number;
  readonly lines: number;
  readonly paint: Paint;
}

function tableLines(
  facts: TopFacts,
  view: Pick<TopView, 'page' | 'sortBy' | 'filter'>,
  { columns, lines, paint }: TableRoom,
): readonly string[] {
  const page = PAGES[view.page] ?? PAGES[0];
  if (!page) return [];
  const wanted = view.filter.toLowerCase();
  const rows = page.rows(facts).filter(({ name }) => name.toLowerCase().includes(wanted));
  const shown = sortedRows(rows, view.sortBy[view.page] ?? page.sortBy).slice(0, Math.max(0, lines - 1));
  const [title = '', ...heads] = page.columns;
  const widths = heads.map((head, nth) =>
    Math.max(head.length, ...shown.map(({ cells }) => cells[nth]?.text.length ?? 0)),
  );
  const nameWidth = Math.max(8, columns - widths.reduce((sum, width) => sum + width + 1, 0));
  const heading = heads.map((head, nth) => head.padStart(widths[nth] ?? 0));
  const lineOf = ({ name, cells }: TopRow): string => {
    const texts = cells.map(({ text, tone }, nth) => paint(text.padStart(widths[nth] ?? 0), tone));
    return [padded(name, nameWidth), ...texts].join(' ');
  };
  const first = cut([padded(title, nameWidth), ...heading].join(' '), columns);
  const hint = page.hint?.(facts);
  return [paint(first, 'head'), ...(hint === undefined ? shown.map(lineOf) : [cut(hint, columns)])];
}

/** Cuts a text to a width, safe for a terminal. */
function cut(text: string, width: number): string {
  return fitted(text, width).text;
}

function padded(text: string, width: number): string {
  const short = fitted(text, width);
  return short.text + ' '.repeat(Math.max(0, width - short.width));
}

/** Returns the printed form of a text within a width, with `…` for what is cut off, and the columns that it takes. */
function fitted(text: string, width: number): { readonly text: string; readonly width: number } {
  let [shown, used] = ['', 0];
  /** The longest beginning with which `…` still fits. */
  let short = { text: '', width: 0 };
  for (const character of text) {
    if (used < width) short = { text: shown, width: used };
    const cell = cellOf(character, used);
    shown += cell.shown;
    used += cell.width;
    if (used > width) return { text: `${short.text}…`, width: short.width + 1 };
  }
  return { text: shown, width: used };
}
