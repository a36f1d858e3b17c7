import { h, segmented, show } from '../dom.ts';
import { count, plural, pretty } from '../format.ts';

const MOST_ROWS = 200;
const MOST_COLUMNS = 60;
const MOST_CHARACTERS = 300;

type JsonRow = Readonly<Record<string, unknown>>;

/** The order of the rows, and how to change it. */
interface Sorting {
  /** As `order` of a request: `name.desc`. */
  readonly order: string;
  /** Absent if the request has no order. */
  readonly sort?: (column: string) => void;
}

/** Returns the elements for the body of a response: rows as a table that can be shown as JSON, all else as text. */
export function resultOf(text: string, sorting: Sorting): readonly Node[] {
  const asText = (): HTMLElement => h('pre', { tabindex: 0, 'aria-label': 'Response' }, pretty(text));
  const rows = rowsOf(text);
  if (!rows) return [asText()];
  const shown = h('div', {}, grid(rows, sorting));
  const shapes = segmented({
    legend: 'Show as',
    name: 'shape',
    chosen: 'rows',
    options: [
      ['rows', 'Rows'],
      ['json', 'JSON'],
    ],
    choose: (shape) => show(shown, shape === 'json' ? asText() : grid(rows, sorting)),
  });
  return [h('div', { class: 'toolbar' }, shapes), shown];
}

/** Returns the rows of a JSON array of objects; `undefined` for all else. */
function rowsOf(text: string): readonly JsonRow[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    if (!Array.isArray(parsed) || parsed.length === 0) return undefined;
    return parsed.every((row) => isObject(row)) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is JsonRow {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function grid(rows: readonly JsonRow[], sorting: Sorting): HTMLElement {
  const first = rows.slice(0, MOST_ROWS);
  const columns = [...new Set(first.flatMap((row) => Object.keys(row)))].slice(0, MOST_COLUMNS);
  const isNumeric = (column: string): boolean =>
    first.every((row) => typeof row[column] === 'number' || row[column] === null);
  const looks = new Map(columns.map((column) => [column, isNumeric(column) ? 'number' : undefined]));
  const lines = first.map((row) =>
    h('tr', {}, ...columns.map((column) => h('td', { class: looks.get(column) }, cell(row[column])))),
  );
  const table = h(
    'table',
    { class: 'grid' },
    h(
      'thead',
      {},
      h('tr', {}, ...columns.map((column) => head(column, { sorting, look: looks.get(column) }))),
    ),
    h('tbody', {}, ...lines),
  );
  const rest = rows.length - first.length;
  return h(
    'div',
    {},
    h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Response' }, table),
    h(
      'p',
      { class: 'quiet' },
      rest > 0
        ? `the first ${count(first.length)} of ${plural(rows.length, 'row')}`
        : plural(rows.length, 'row'),
    ),
  );
}

function head(
  column: string,
  { sorting: { order, sort }, look }: { sorting: Sorting; look: string | undefined },
): HTMLElement {
  const isFirst = order === column || order.startsWith(`${column}.`);
  const direction = order.endsWith('.desc') ? 'descending' : 'ascending';
  const name = isFirst ? `${column} ${direction === 'descending' ? '↓' : '↑'}` : column;
  return h(
    'th',
    { scope: 'col', class: look, 'aria-sort': isFirst ? direction : undefined },
    sort
      ? h(
          'button',
          { type: 'button', class: 'plain', 'aria-label': `Sort by ${column}`, onclick: () => sort(column) },
          name,
        )
      : name,
  );
}

function cell(value: unknown): HTMLElement | string {
  if (value === undefined) return '';
  if (value === null) return h('span', { class: 'quiet' }, 'null');
  if (typeof value === 'object') return h('code', {}, shortened(JSON.stringify(value)));
  return shortened(String(value as string | number | boolean));
}

function shortened(text: string): string {
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
}
