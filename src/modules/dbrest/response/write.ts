import type { Exchange } from '../../../http/index.ts';
import { notSingular, otherKey, tooManyAffected } from '../fault/index.ts';
import type { PlannedWrite } from '../plan/index.ts';
import type { Results, Row } from '../session/index.ts';
import { openBody, type ResponseStart, type RowCounts } from './body.ts';
import { type OpenResponse, type ResponseParts, setHead, settingsOf, contentRange } from './head.ts';

/** The response to a write, sent after the commit. */
export function respondToWrite(x: Exchange, plan: PlannedWrite, parts: ResponseParts): OpenResponse {
  const { config, statements, stopwatch } = parts;
  const main = statements.before.length;
  const head = ({ rows }: RowCounts, results: Results): ResponseStart => {
    stopwatch?.lap('transaction');
    const updated = plan.counted ? Number(results[main + 1]?.[0] ?? 0) : 0;
    const keyRow = plan.shows === 'location' ? results[main] : undefined;
    const written = { rows, inserted: rows - updated, keyRow };
    const own = writeHeaders(x, plan, written);
    const chosen = settingsOf(statements, results);
    return setHead(x, { status: writeStatus(plan, written), own, chosen }, { plan, config, stopwatch });
  };
  return plan.shows === 'rows' ? showRows(x, plan, head) : respondWithCount(x, plan, { head, main });
}

type MakeHead = (counts: RowCounts, results: Results) => ResponseStart;

function showRows(x: Exchange, plan: PlannedWrite, head: MakeHead): OpenResponse {
  const body = openBody(x, plan.form, { head, held: true });
  const verdict = (): void => {
    judge(plan, body.counts.rows);
    body.judge();
  };
  return { sink: body, ...(plan.held && { verdict }), end: () => body.end() };
}

/** Responds without rows; the main statement returns their number. */
function respondWithCount(
  x: Exchange,
  plan: PlannedWrite,
  { head, main }: { readonly head: MakeHead; readonly main: number },
): OpenResponse {
  const rowsOf = (results: Results): number => Number(results[main]?.[0]);
  const verdict = (results: Results): void => {
    const rows = rowsOf(results);
    judge(plan, rows);
    if (plan.form.media.format === 'object' && rows !== 1) throw notSingular(rows);
  };
  return {
    ...(plan.held && { verdict }),
    end(results) {
      const { status, contentType = '' } = head({ rows: rowsOf(results) }, results);
      x.send(status, contentType, '');
    },
  };
}

/** Throws the fault that rolls the write back. */
function judge({ request, preferences }: PlannedWrite, rows: number): void {
  if (request.head.method === 'PUT' && rows !== 1) throw otherKey();
  const { maxAffected = Infinity } = preferences;
  if (rows > maxAffected) throw tooManyAffected(rows);
}

/** The results of a write. */
interface WriteOutcome {
  readonly rows: number;
  /** How many of the rows are new. */
  readonly inserted: number;
  /** The row of a `locationSql` statement: the number of rows and the key of a single one. */
  readonly keyRow: Row | undefined;
}

/** The status of a write, as in PostgREST. */
function writeStatus({ request, write, form, shows }: PlannedWrite, { inserted }: WriteOutcome): number {
  if (form.media.plan) return 200;
  const isMerge = write.kind === 'insert' && write.conflict?.action === 'merge';
  switch (request.head.method) {
    case 'POST':
      return shows === 'rows' && isMerge && inserted === 0 ? 200 : 201;
    case 'PUT':
      if (shows !== 'rows') return 204;
      return inserted > 0 ? 201 : 200;
    case 'PATCH':
    case 'DELETE':
      return shows === 'rows' ? 200 : 204;
  }
}

/** The headers `Content-Range`, as in PostgREST, and `Location`. */
function writeHeaders(
  x: Exchange,
  { request, preferences, write, form }: PlannedWrite,
  { rows, keyRow }: WriteOutcome,
): [name: string, value: string | undefined][] {
  if (form.media.plan) return [];
  const { method } = request.head;
  const total = preferences.count ? rows : undefined;
  const range = contentRange({ offset: 0 }, method === 'PATCH' ? rows : 0, total);
  const location = keyRow && rows === 1 ? locationOf(x, write.table.primaryKey, keyRow.slice(1)) : undefined;
  return [
    ['Content-Range', method === 'PUT' ? undefined : range],
    ['Location', location],
  ];
}

/** The URL of a row: the table as the client named it, filtered by its key. In a view over a join a part may be null. */
function locationOf({ request: { requestUri } }: Exchange, key: readonly string[], values: Row): string {
  const pairs = key.map((name, i) => {
    const value = values[i] ?? null;
    return `${encodeURIComponent(name)}=${value === null ? 'is.null' : `eq.${encodeURIComponent(value)}`}`;
  });
  return `${requestUri.replace(/\?.*$/s, '')}?${pairs.join('&')}`;
}
