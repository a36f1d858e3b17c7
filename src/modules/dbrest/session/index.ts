import { userInfo } from 'node:os';
import type { QueryConfig } from 'pg';
import type { ConnectionTarget } from '../dsn.ts';
import { type Attempt, connectionAttempts, type Pg, type WireClient } from './connection.ts';
import { Session } from './session.ts';

export type { Results, RowSink, RunStep } from './batch.ts';
export { type Leftovers, ConnectionLost, UnexpectedResult, type Session, type Verdict } from './session.ts';
export type { Column, Pg, Row, WireClient, WireError } from './connection.ts';

/**
 * A net for our own death: the server notices a gone client in mid-query (PostgreSQL 14 and later, not on every
 * platform, hence no error where it cannot be set).
 */
const CHECK_CLIENT_SQL = `select set_config(name, '500', false) from pg_settings where name = 'client_connection_check_interval'`;
/** The same where it could be set once. */
const CHECK_CLIENT_AGAIN = `pg_catalog.set_config('client_connection_check_interval', '500', false)`;

/** Connects to the first host that answers. Rejects with the last attempt's error. `ended` runs once, when the session is gone. */
export async function openSession(
  pg: Pg,
  target: ConnectionTarget,
  ended: (session: Session) => void,
): Promise<Session> {
  let settings: readonly string[] = [];
  const { client, attempt } = await connect(pg, target, async (connected) => {
    const asked = connected.query(checkClient(target.connectTimeoutMs));
    const result = await asked.catch(ignoreServerError);
    settings = result?.rowCount === 1 ? [CHECK_CLIENT_AGAIN] : [];
  });
  return new Session(pg, { client, attempt, settings, ended });
}

/** A connection to the first host that answers, made ready. Rejects with the last attempt's error. */
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
    // Without TLS it would not be any closer.
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
      lastError = error;
      if (!wasReached(error as NodeJS.ErrnoException)) unreachable = attempt;
      // It was let in, and ended at once with all others: the next one is not one of them.
      if (isConnected && !hasLost) i -= 1;
      hasLost ||= isConnected;
    }
  }
  throw lastError;
}

/** pg knows a time limit per query; its type declarations do not. */
function checkClient(timeoutMs: number): QueryConfig {
  const limited = { text: CHECK_CLIENT_SQL, query_timeout: timeoutMs };
  return limited;
}

function ignoreServerError(error: Error): undefined {
  if (!('severity' in error)) throw error;
}

/** False: no server answered at this address. */
function wasReached({ syscall, message }: NodeJS.ErrnoException): boolean {
  return syscall === undefined && message !== 'timeout expired';
}

function newClient(pg: Pg, target: ConnectionTarget, { host, port, ssl }: Attempt): WireClient {
  const user = target.user ?? userInfo().username;
  const client = new pg.Client({
    host,
    port,
    ssl,
    user,
    database: target.database ?? user,
    // A function: an absent password then stays absent, instead of pg reading the environment and ~/.pgpass.
    password: () => target.password ?? '',
    application_name: target.applicationName,
    connectionTimeoutMillis: target.connectTimeoutMs,
    keepAlive: target.keepAlive,
    keepAliveInitialDelayMillis: target.keepAliveIdleMs,
    ...(target.options !== undefined && { options: target.options }),
  }) as WireClient;
  // Between the failure of `connect` and the socket's end more errors may come; nobody waits for them.
  client.on('error', () => undefined);
  return client;
}
