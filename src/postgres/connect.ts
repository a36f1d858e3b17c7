import { userInfo } from 'node:os';
import type { QueryConfig } from 'pg';
import {
  addressOf,
  type Attempt,
  connectionAttempts,
  ConnectTimeout,
  hasTimedOut,
  type Pg,
  publicMessage,
  type WireClient,
} from './connection.ts';
import { type ConnectionTarget, targetName } from './dsn.ts';

/** Loads the driver, which only modules with a database need. */
export async function loadPg(): Promise<Pg> {
  return (await import('pg')).default;
}

/** Connects to the first host that answers, and prepares the connection. Rejects with the error of the last attempt. */
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
      sayWhatToDo(error as Error);
      if (!wasReached(error as NodeJS.ErrnoException)) unreachable = attempt;
      // All sessions were terminated while this one was being prepared: it is tried once more.
      if (isConnected && !hasLost) i -= 1;
      hasLost ||= isConnected;
    }
  }
  throw lastError;
}

/**
 * Calls `use` with a client. If the server cannot be reached, rejects with a message of one line without the password;
 * otherwise as `use` does.
 */
export async function withClient<T>(
  target: ConnectionTarget,
  use: (client: WireClient) => Promise<T>,
): Promise<T> {
  const { client } = await connect(await loadPg(), target, () => Promise.resolve()).catch(
    sayUnreachable(target),
  );
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Turns an error of `connect` into such a message, and throws it. */
export function sayUnreachable(target: ConnectionTarget): (cause: Error) => never {
  return (cause) => {
    throw new Error(`cannot connect to "${targetName(target)}": ${publicMessage(cause, target)}`, { cause });
  };
}

/** A query that rejects after some time; `query_timeout` is missing in pg's type declarations. */
export function limitedQuery(text: string, timeoutMs: number, values: unknown[] = []): QueryConfig {
  const limited = { text, values, query_timeout: timeoutMs };
  return limited;
}

/** Selects the id of the process that runs the session, as `pid`. */
export const PID_SQL = 'select pg_catalog.pg_backend_pid()::text as pid';

/**
 * Returns whether a connection pooler is in between, by the result of `PID_SQL`. A pooler gives its clients an id of
 * its own, not that of the process that runs their queries: PgBouncer in each of its modes, Supavisor, Odyssey, pgcat,
 * the proxies of hosted databases. The id does not show whether the pooler keeps sessions.
 */
export function isPooled({ processID }: WireClient, pid: string | undefined): boolean {
  return pid !== String(processID);
}

/** PgBouncer refuses startup parameters that it does not track. Of those that gw sends, it can only be this one. */
function sayWhatToDo(error: Error): void {
  if (error.message === 'unsupported startup parameter: options')
    error.message += '; leave "options" out of the connection string, or have the pooler ignore it';
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
    // Given as a function, so that pg does not read the environment and ~/.pgpass if there is no password.
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
