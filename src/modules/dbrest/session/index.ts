import { userInfo } from 'node:os';
import type { QueryConfig } from 'pg';
import type { ConnectionTarget } from '../dsn.ts';
import {
  addressOf,
  type Attempt,
  connectionAttempts,
  ConnectTimeout,
  hasTimedOut,
  type Pg,
  type WireClient,
} from './connection.ts';
import { Session, type SessionOptions } from './session.ts';

export type { Pg } from './connection.ts';
export { type Results, type RowSink, runSteps, type RunStep } from './batch.ts';
export {
  type BatchRules,
  type Cost,
  ConnectionLost,
  Displaced,
  type Session,
  UnexpectedResult,
  type Verdict,
} from './session.ts';
export type { Leftovers } from './lead.ts';
export {
  type Column,
  ConnectTimeout,
  isStatementError,
  type Row,
  type WireClient,
  type WireError,
} from './connection.ts';

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
    const asked = connected.query(checkClient(target.connectTimeoutMs));
    const result = await asked.catch(ignoreServerError);
    settings = result?.rowCount === 1 ? [CHECK_CLIENT_AGAIN] : [];
  });
  return new Session(pg, { client, attempt, settings, ended, ...(flushed && { flushed }) });
}

/** Connects to the first host that answers and prepares the connection. Rejects with the error of the last attempt. */
export async function connect(
  pg: Pg,
  target: ConnectionTarget,
  makeReady: (client: WireClient) => Promise<unknown>,
): Promise<{ client: WireClient; attempt: Attempt }> {
  let lastError: unknown;
  let unreachable: Attempt | undefined;
  const attempts = await connectionAttempts(target);
  let hasLost = false;
  for (let i = 0; i < attempts.length; i += 1) {
    const attempt = attempts[i] as Attempt;
    // An unreachable host is not tried again without TLS.
    if (attempt.host === unreachable?.host && attempt.port === unreachable.port) continue;
    const client = newClient(pg, target, attempt);
    let isConnected = false;
    try {
      await client.connect();
      isConnected = true;
      await makeReady(client);
      return { client, attempt };
    } catch (error) {
      client.end(() => undefined);
      const { connectTimeoutMs } = target;
      lastError = hasTimedOut(error as Error) ? new ConnectTimeout(attempt, connectTimeoutMs, error) : error;
      if (!wasReached(error as NodeJS.ErrnoException)) unreachable = attempt;
      // All sessions were terminated while this one was being prepared: one more attempt is made.
      if (isConnected && !hasLost) i -= 1;
      hasLost ||= isConnected;
    }
  }
  throw lastError;
}

/** `query_timeout` is missing in pg's type declarations. */
function checkClient(timeoutMs: number): QueryConfig {
  const limited = { text: CHECK_CLIENT_SQL, query_timeout: timeoutMs };
  return limited;
}

function ignoreServerError(error: Error): undefined {
  if (!('severity' in error)) throw error;
}

/** Returns false if no server answered at the address. */
function wasReached(error: NodeJS.ErrnoException): boolean {
  return error.syscall === undefined && !hasTimedOut(error);
}

function newClient(pg: Pg, target: ConnectionTarget, attempt: Attempt): WireClient {
  const { port, ssl, password = '' } = attempt;
  const user = target.user ?? userInfo().username;
  const client = new pg.Client({
    host: addressOf(attempt),
    port,
    ssl,
    user,
    database: target.database ?? user,
    // A function keeps pg from reading the environment and ~/.pgpass when there is no password.
    password: () => target.password ?? password,
    application_name: target.applicationName,
    connectionTimeoutMillis: target.connectTimeoutMs,
    keepAlive: target.keepAlive,
    keepAliveInitialDelayMillis: target.keepAliveIdleMs,
    ...(target.options !== undefined && { options: target.options }),
  }) as WireClient;
  // More errors may follow a failed `connect`.
  client.on('error', () => undefined);
  return client;
}
