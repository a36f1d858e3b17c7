import { connect, type ConnectionTarget, limitedQuery, type Pg } from '../../../postgres/index.ts';
import { Session, type SessionOptions } from './session.ts';

export { type Column, type Results, type Row, type RowSink, runSteps, type RunStep } from './batch.ts';
export {
  type BatchRules,
  type Cost,
  ConnectionLost,
  Displaced,
  hasLostType,
  type Session,
  UnexpectedResult,
  type Verdict,
} from './session.ts';
export type { Leftovers } from './lead.ts';

/**
 * Lets the server notice during a query that gw has gone. The setting exists since PostgreSQL 14 and not on every platform,
 * so it is set only where it exists.
 */
const CHECK_CLIENT_SQL = `select set_config(name, '500', false) from pg_settings where name = 'client_connection_check_interval'`;
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
  let settings: readonly string[] = [];
  const { client, attempt } = await connect(pg, target, async (connected) => {
    const asked = connected.query(limitedQuery(CHECK_CLIENT_SQL, target.connectTimeoutMs));
    const result = await asked.catch(ignoreServerError);
    settings = result?.rowCount === 1 ? [CHECK_CLIENT_AGAIN] : [];
  });
  return new Session(pg, { client, attempt, settings, ended, ...(flushed && { flushed }) });
}

function ignoreServerError(error: Error): undefined {
  if (!('severity' in error)) throw error;
}
