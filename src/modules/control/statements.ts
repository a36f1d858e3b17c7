import { openStatementLists, type StatementView } from '../../contract/index.ts';
import { jsonText, roundedMs } from '../../log/index.ts';
import { ControlFault, type Endpoint, type Query, readQuery } from './endpoint.ts';

/** Statements in a response without `limit`, and with the largest. */
const USUAL_LIMIT = 20;
const MOST = 1_000;

/** `/runtime/statements`: gives the statements of all workers that took the most time. */
export const statements: Endpoint = {
  name: 'statements',
  path: 'statements',
  description: `statements of databases that took the most time, without values; ?limit=, ${USUAL_LIMIT} if absent`,
  compile({ resources: { worker } }) {
    const lists = openStatementLists(worker);
    return async (x) => {
      const limit = readLimit(readQuery(x.args));
      const { statements: all, left, answered } = await lists.all(worker.workers);
      const shown = {
        status: 'ok',
        workers: worker.workers,
        answered,
        calls: all.reduce((sum, { calls }) => sum + calls, left.calls),
        total_ms: roundedMs(all.reduce((sum, { totalMs }) => sum + totalMs, left.totalMs)),
        left: { statements: left.statements, calls: left.calls, total_ms: roundedMs(left.totalMs) },
        statements: all.slice(0, limit).map(described),
      };
      x.send(200, 'application/json', jsonText(shown));
    };
  },
};

function readLimit(query: Query): number {
  const text = query.get('limit') || String(USUAL_LIMIT);
  if (/^\d{1,4}$/.test(text) && Number(text) <= MOST) return Number(text);
  throw new ControlFault(400, `invalid query param: limit must be a number up to ${MOST}`);
}

function described(view: StatementView): object {
  const { database, location, role = null, calls, errors, rows, totalMs, maxMs, sql } = view;
  const times = {
    total_ms: roundedMs(totalMs),
    mean_ms: roundedMs(totalMs / calls),
    max_ms: roundedMs(maxMs),
  };
  return { database, location, role, calls, errors, rows, ...times, sql };
}
