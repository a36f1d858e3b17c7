import type { Exchange } from '../../../http/index.ts';
import {
  conditionFailed,
  leftOutRows,
  notSingular,
  otherKey,
  tooManyAffected,
  unfitElement,
} from '../fault/index.ts';
import { elementsKey, type PlannedWrite } from '../plan/index.ts';
import { taggedVersion } from '../request/index.ts';
import type { Results, Row } from '../session/index.ts';
import type { Statements } from '../sql/index.ts';
import { openBody, type ResponseStart, type RowCounts } from './body.ts';
import { type OpenResponse, type ResponseParts, setHead, settingsOf, contentRange } from './head.ts';

/** The response to a write, sent after the commit. */
export function respondToWrite(x: Exchange, plan: PlannedWrite, parts: ResponseParts): OpenResponse {
  const { config, statements, stopwatch, tagging, runs } = parts;
  const main = statements.before.length;
  const check = (rows: number, results: Results): void => {
    judgeElements(plan, results[main - 1]);
    judgeNested(plan, results.slice(statements.firstCount, main));
    judge(plan, rows, outcomesOf(plan, statements, results));
  };
  const head = ({ rows }: RowCounts, results: Results): ResponseStart => {
    stopwatch?.lap('transaction');
    const updated = updatedOf(plan, rows, results[main + 1]);
    const keyRow = plan.shows === 'location' ? results[main] : undefined;
    const written = { rows, inserted: rows - updated, keyRow };
    const own = writeHeaders(x, plan, written);
    const chosen = settingsOf(statements, results);
    return setHead(
      x,
      { status: writeStatus(plan, written), rows, own, chosen },
      { plan, config, stopwatch, runs },
    );
  };
  return plan.shows === 'rows'
    ? showRows(x, plan, { head, check, tagging })
    : respondWithCount(x, plan, { head, check, main });
}

/** The number of rows that existed before. `counted`: the result of the count of merged rows. */
function updatedOf(
  { write, counted: isCounted }: PlannedWrite,
  rows: number,
  counted: Row | undefined,
): number {
  if (write.kind === 'insert' && write.conflict?.by) return rows;
  return isCounted ? Number(counted?.[0] ?? 0) : 0;
}

interface WriteSteps extends Pick<ResponseParts, 'tagging'> {
  readonly head: (counts: RowCounts, results: Results) => ResponseStart;
  /** Throws the fault that rolls the write back. */
  readonly check: (rows: number, results: Results) => void;
}

function showRows(x: Exchange, plan: PlannedWrite, { head, check, tagging }: WriteSteps): OpenResponse {
  const body = openBody(x, plan.form, { head, held: true, tagging });
  const verdict = (results: Results): void => {
    check(body.counts.rows, results);
    body.judge();
  };
  return { sink: body, ...(plan.held && { verdict }), end: () => body.end() };
}

/** Responds without rows; the main statement returns their number. */
function respondWithCount(
  x: Exchange,
  plan: PlannedWrite,
  { head, check, main }: Omit<WriteSteps, 'tagging'> & { readonly main: number },
): OpenResponse {
  const rowsOf = (results: Results): number => Number(results[main]?.[0]);
  const verdict = (results: Results): void => {
    const rows = rowsOf(results);
    check(rows, results);
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

/** The counts by which the condition of a write is judged. */
interface Outcomes {
  /** The rows that the query finds. */
  readonly matched: number | undefined;
  /** The rows that a PUT has changed instead of inserting them. */
  readonly updated: number;
  /** The body of a PUT has the key of the query. */
  readonly fits: boolean;
}

function outcomesOf(
  { condition, counted, write }: PlannedWrite,
  { before, firstCount }: Statements,
  results: Results,
): Outcomes | undefined {
  if (!condition) return undefined;
  const numberAt = (at: number): number => Number(results[at]?.[0] ?? 0);
  const behind = before.length + 1;
  const matched = condition.kind === 'match' && write.kind !== 'insert' ? numberAt(firstCount) : undefined;
  return {
    matched,
    updated: counted ? numberAt(behind) : 0,
    fits: write.kind === 'insert' && numberAt(behind + (counted ? 1 : 0)) > 0,
  };
}

/** Throws if the condition of a write did not hold for its rows. */
function judgeCondition(plan: PlannedWrite, rows: number, { matched, updated, fits }: Outcomes): void {
  const { condition, request } = plan;
  if (request.head.method !== 'PUT') {
    if (rows > 0 && (matched ?? rows) === rows) return;
    throw conditionFailed(
      matched ? 'Not every row has a version that "If-Match" names.' : 'No row is there to be changed.',
    );
  }
  if (condition?.kind === 'absent') {
    if (rows === 0 && fits) throw conditionFailed('The row is there already.');
  } else if ((rows === 0 && fits) || rows > updated) {
    throw conditionFailed('The row is not there, or has no version that "If-Match" names.');
  }
}

/**
 * Throws if the key of an element is repeated or has a null. `found`: the first element with a repeated key, and the
 * first one with a null; this is the last count.
 */
function judgeElements({ write }: PlannedWrite, found: Row | undefined): void {
  const by = elementsKey(write);
  if (!by || !found) return;
  const key = by.map(({ column }) => column.name);
  const [repeated, unset] = found;
  // PostgreSQL has refused to insert it.
  if (unset && write.kind === 'update') throw unfitElement(Number(unset), key, 'null');
  if (repeated) throw unfitElement(Number(repeated), key, 'repeated');
}

/** Throws if rows were left out of an insert with rows of other tables: other rows refer to them by their number. */
function judgeNested({ write }: PlannedWrite, inserts: Results): void {
  if (write.kind !== 'insert' || !write.nested) return;
  for (const row of inserts) if (row?.[0] !== row?.[1]) throw leftOutRows();
}

/** Throws the fault that rolls the write back. */
function judge(plan: PlannedWrite, rows: number, outcomes: Outcomes | undefined): void {
  const { request, preferences } = plan;
  if (outcomes) judgeCondition(plan, rows, outcomes);
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
      return isMerge && inserted === 0 ? 200 : 201;
    case 'PUT':
      if (shows !== 'rows') return 204;
      return inserted > 0 ? 201 : 200;
    case 'PATCH':
    case 'DELETE':
      return shows === 'rows' ? 200 : 204;
  }
}

/** The headers `Content-Range`, as in PostgREST, `Location`, and the `ETag` of a row that is not shown. */
function writeHeaders(
  x: Exchange,
  { request, preferences, write, form, version: column }: PlannedWrite,
  { rows, keyRow }: WriteOutcome,
): [name: string, value: string | undefined][] {
  if (form.media.plan) return [];
  const { method } = request.head;
  const total = preferences.count ? rows : undefined;
  const range = contentRange({ offset: 0 }, method === 'PATCH' ? rows : 0, total);
  const { primaryKey } = write.table;
  const isPlaced = keyRow && rows === 1 && method === 'POST' && primaryKey.length > 0;
  const location = isPlaced ? locationOf(x, primaryKey, keyRow.slice(1)) : undefined;
  const version = column !== undefined && rows === 1 ? keyRow?.at(-1) : undefined;
  const tag = typeof version === 'string' ? taggedVersion(version) : undefined;
  return [
    ['Content-Range', method === 'PUT' ? undefined : range],
    ['Location', location],
    ['ETag', tag === undefined ? undefined : `"${tag}"`],
  ];
}

/** The URL of a row: the table as the client named it, filtered by its key. In a view of a join a part may be null. */
function locationOf({ request: { requestUri } }: Exchange, key: readonly string[], values: Row): string {
  const pairs = key.map((name, i) => {
    const value = values[i] ?? null;
    return `${encodeURIComponent(name)}=${value === null ? 'is.null' : `eq.${encodeURIComponent(value)}`}`;
  });
  return `${requestUri.replace(/\?.*$/s, '')}?${pairs.join('&')}`;
}
