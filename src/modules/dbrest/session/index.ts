import {
  connect,
  type ConnectionTarget,
  isPooled,
  limitedQuery,
  literal,
  type Pg,
  PID_SQL,
  type WireClient,
} from '../../../postgres/index.ts';
import { Session, type SessionOptions } from './session.ts';

export {
  type BatchRules,
  type Column,
  type Cost,
  type Leftovers,
  type PreparedStatements,
  type Results,
  type Row,
  type RowSink,
  runSteps,
  type RunStep,
  type Verdict,
} from './batch.ts';
export { hasLostType } from './extended-query.ts';
export { ConnectionLost, Displaced, type Session, UnexpectedResult } from './session.ts';

/**
 * Gives the process id as `PID_SQL` does. If that is the one of the connection, no pooler is in between, and the server
 * is told to notice during a query that gw has gone. The setting exists since PostgreSQL 14 and not on every platform.
 */
const OPENING_SQL = `select s.pid::text as pid, (
    select pg_catalog.set_config(name, '500', false) from pg_catalog.pg_settings
    where name = 'client_connection_check_interval' and s.pid = $1::int8
  ) as interval
from (select pg_catalog.pg_backend_pid() as pid) s`;
/** Sets it again after a reset. */
const CHECK_CLIENT_AGAIN = `pg_catalog.set_config('client_connection_check_interval', '500', false)`;

/**
 * Opens a session with the first host that answers. Rejects with the error of the last attempt. `ended` is called once,
 * when the connection has ended; `flushed` with the number of batches of each write.
 */
export async function openSession(
  pg: Pg,
  target: ConnectionTarget,
  { ended, flushed }: Pick<SessionOptions, 'ended' | 'flushed'>,
): Promise<Session> {
  let found: SessionFacts = { isPooled: true };
  const { client, attempt } = await connect(pg, target, async (connected) => {
    found = await findOut(connected, target);
  });
  return new Session(pg, { client, attempt, ...found, ended, ...(flushed && { flushed }) });
}

type SessionFacts = Pick<SessionOptions, 'isPooled' | 'settings'>;

interface Opening {
  readonly pid: string;
  readonly interval?: string | null;
}

async function findOut(client: WireClient, target: ConnectionTarget): Promise<SessionFacts> {
  const ask = (sql: string, values?: unknown[]): Promise<{ readonly rows: readonly Opening[] }> =>
    client.query<Opening>(limitedQuery(sql, target.connectTimeoutMs, values));
  const asked = await ask(OPENING_SQL, [client.processID]).catch(ignoreServerError);
  const { pid, interval = null } = (asked ?? (await ask(PID_SQL))).rows[0] ?? {};
  if (isPooled(client, pid)) return { isPooled: true, settings: ofPooled(target) };
  return { isPooled: false, settings: interval === null ? [] : [CHECK_CLIENT_AGAIN] };
}

/** Calls that repeat what a reset undoes in a session of a pooler, which has not begun with these settings. */
function ofPooled({ applicationName }: ConnectionTarget): readonly string[] {
  const name = literal(applicationName);
  return [
    `pg_catalog.set_config('client_encoding', 'UTF8', false)`,
    `pg_catalog.set_config('application_name', ${name}, false)`,
  ];
}

function ignoreServerError(error: Error): undefined {
  if (!('severity' in error)) throw error;
}
