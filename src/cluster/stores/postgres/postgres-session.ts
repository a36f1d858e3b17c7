import {
  connect,
  type ConnectionTarget,
  isPooled,
  limitedQuery,
  loadPg,
  publicMessage,
  type WireClient,
  type WireError,
} from '../../../postgres/index.ts';
import { StoreLost, type StoreOwner, StoreRefused } from '../store.ts';
import { CHANNEL } from './functions-sql.ts';
import { type Row, UnexpectedRows } from './rows.ts';
import { FORBIDDEN, MISSING, SCHEMA_VERSION } from './schema-sql.ts';

interface SessionOptions {
  readonly target: ConnectionTarget;
  readonly timeoutMs: number;
  /** Receives the payloads of notifications. Any role that may connect can have sent them. */
  readonly heard: (payload: string) => void;
}

/** A statement; messages show its name. */
interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

interface Call {
  readonly statement: Statement;
  readonly timer: NodeJS.Timeout;
  settle(rows: readonly Row[]): void;
  fail(error: Error): void;
}

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;
const GOODBYE_MS = 1_000;
/** Grace after a statement's timeout: a server that has not ended the statement by then hangs. */
const DEAF_MS = 1_000;
const MOST_WAITING = 1_000;
/** The largest reply to a statement of the store is smaller. */
const MAX_REPLY_BYTES = 33_554_432;

/** The statement was ended by `statement_timeout`. */
const CANCELED = '57014';
/** The server has become a standby. */
const READ_ONLY = '25006';

/** The reason why a server that answers cannot be the store. */
class Unfit extends Error {}

/**
 * One session of PostgreSQL, which always reconnects. It runs one statement at a time and receives notifications. No
 * statement waits for a lost connection to come back, and none is sent twice.
 */
export class PostgresSession {
  readonly #options: SessionOptions;
  readonly #owner: StoreOwner;
  #client: WireClient | undefined;
  #reason = 'not connected yet';
  /** Calls that have not been sent, the oldest first. */
  readonly #waiting = new Set<Call>();
  #running: Call | undefined;
  #deaf: NodeJS.Timeout | undefined;
  #received = 0;
  #retry: NodeJS.Timeout | undefined;
  #delayMs = FIRST_DELAY_MS;
  #isClosed = false;

  constructor(options: SessionOptions, owner: StoreOwner) {
    this.#options = options;
    this.#owner = owner;
    void this.#connect();
  }

  /** Runs a statement and returns what `read` makes of its rows. Rejects with `StoreLost` or `StoreRefused`. */
  run<T>(statement: Statement, read: (rows: readonly Row[]) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!this.#client) return reject(new StoreLost(this.#reason));
      if (this.#waiting.size >= MOST_WAITING) return reject(new StoreLost('too many statements wait'));
      const timer = setTimeout(() => this.#late(call), this.#options.timeoutMs);
      const call: Call = {
        statement,
        timer,
        fail: reject,
        settle: (rows) => {
          try {
            resolve(read(rows));
          } catch (error) {
            reject(this.#unexpected(error, statement));
          }
        },
      };
      this.#waiting.add(call);
      this.#next();
    });
  }

  /** Closes the session and opens another one. */
  drop(reason: string): void {
    const client = this.#client;
    if (!client) return;
    this.#lost(reason);
    client.connection.stream.destroy();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    const client = this.#client;
    this.#lost('closed');
    if (client) void endGently(client);
  }

  async #connect(): Promise<void> {
    const { target } = this.#options;
    try {
      const { client, unfit } = await this.#open();
      if (this.#isClosed) return await endGently(client);
      if (unfit) {
        void endGently(client);
        throw unfit;
      }
      this.#client = client;
      this.#reason = '';
      client.on('end', () => client === this.#client && this.#lost('the connection was closed'));
      this.#delayMs = FIRST_DELAY_MS;
      this.#owner.up();
    } catch (error) {
      const remedy = isUnknownRole(error) ? `: ${SETUP}` : '';
      this.#failed(`${publicMessage(error as Error, target)}${remedy}`);
    }
  }

  /**
   * `connect` tries again without TLS after a fault, so an unfit server is returned. Another host may be fitter than a
   * standby.
   */
  async #open(): Promise<{ readonly client: WireClient; readonly unfit: Unfit | undefined }> {
    const { target, timeoutMs, heard } = this.#options;
    let unfit: Unfit | undefined;
    const { client } = await connect(await loadPg(), target, async (connected) => {
      connected.on('notification', ({ payload = '' }) => heard(payload));
      this.#limitReplies(connected);
      unfit = await unfitness(connected, target);
      if (!unfit) await connected.query(limitedQuery(settings(timeoutMs), target.connectTimeoutMs));
    });
    return { client, unfit };
  }

  /** Replies are kept in memory until they are complete, and what answers may not be a PostgreSQL. */
  #limitReplies(client: WireClient): void {
    const { stream } = client.connection;
    this.#received = 0;
    stream.on('data', (chunk: Buffer) => {
      this.#received += chunk.length;
      if (this.#received <= MAX_REPLY_BYTES) return;
      if (client === this.#client) this.#lost(`a reply exceeds ${MAX_REPLY_BYTES} bytes`);
      stream.destroy();
    });
  }

  #next(): void {
    const [call] = this.#waiting;
    if (this.#running || !call || !this.#client) return;
    this.#waiting.delete(call);
    this.#running = call;
    this.#received = 0;
    const client = this.#client;
    const { text, values } = call.statement;
    const query = { text, values: [...values], rowMode: 'array' as const, types: AS_TEXTS };
    client.query<string[]>(query).then(
      ({ rows }) => this.#ended(client, call, () => call.settle(rows as readonly Row[])),
      (error: WireError) => this.#ended(client, call, () => call.fail(this.#faultOf(error))),
    );
  }

  #ended(client: WireClient, call: Call, settle: () => void): void {
    if (client !== this.#client || call !== this.#running) return;
    clearTimeout(call.timer);
    clearTimeout(this.#deaf);
    this.#running = undefined;
    settle();
    this.#next();
  }

  #late(call: Call): void {
    const reason = `no reply within ${this.#options.timeoutMs} ms`;
    call.fail(new StoreLost(reason));
    if (!this.#waiting.delete(call)) this.#deaf = setTimeout(() => this.drop(reason), DEAF_MS);
  }

  /** The fault that an error means. Drops a session that the server has ended or that cannot be used. */
  #faultOf(error: WireError): Error {
    const { timeoutMs, target } = this.#options;
    const message = publicMessage(error, target);
    if (error.code === CANCELED) return new StoreLost(`no reply within ${timeoutMs} ms`);
    const isAnswer = error.severity === 'ERROR';
    const isUnfit = error.code === READ_ONLY || error.code === FORBIDDEN || MISSING.has(error.code ?? '');
    if (!isAnswer || isUnfit) this.drop(message);
    return isAnswer ? new StoreRefused(message) : new StoreLost(message);
  }

  #unexpected(error: unknown, { name }: Statement): Error {
    if (!(error instanceof UnexpectedRows)) return error as Error;
    const reason = `an unexpected reply to "${name}"`;
    this.drop(reason);
    return new StoreLost(reason);
  }

  #lost(reason: string): void {
    this.#client = undefined;
    clearTimeout(this.#deaf);
    const calls = [...(this.#running ? [this.#running] : []), ...this.#waiting];
    this.#running = undefined;
    this.#waiting.clear();
    for (const call of calls) {
      clearTimeout(call.timer);
      call.fail(new StoreLost(reason));
    }
    this.#failed(reason);
  }

  #failed(reason: string): void {
    const isNews = reason !== this.#reason;
    this.#reason = reason;
    if (this.#isClosed) return;
    if (isNews) this.#owner.down(reason);
    const delayMs = this.#delayMs * (0.5 + Math.random() / 2);
    this.#delayMs = Math.min(LONGEST_DELAY_MS, 2 * this.#delayMs);
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#connect(), delayMs);
  }
}

/** Columns come as the server writes them, regardless of the types that it declares. */
const AS_TEXTS = { getTypeParser: () => (text: string) => text };

/** A function must see what was committed before each of its statements, whatever the default of the database is. */
const settings = (timeoutMs: number): string =>
  `set statement_timeout = ${Math.ceil(timeoutMs)}; set default_transaction_isolation = 'read committed'; listen ${CHANNEL}`;

const SETUP = 'run "gw db setup --cluster"';
const INVALID_AUTHORIZATION = '28000';

const FACTS_SQL = `select pg_catalog.pg_is_in_recovery()::text as standby, pg_catalog.pg_backend_pid()::text as pid,
  session_user::text as role`;

/** Returns why a server cannot be used, if it cannot. Throws for a standby: another host may be the primary. */
async function unfitness(
  client: WireClient,
  { connectTimeoutMs }: ConnectionTarget,
): Promise<Unfit | undefined> {
  const facts = await client.query<{ standby: string; pid: string; role: string }>(
    limitedQuery(FACTS_SQL, connectTimeoutMs),
  );
  const { standby, pid, role } = facts.rows[0] ?? {};
  if (standby !== 'false') throw new Error('the server is a standby, which takes no entries');
  // A pooler gives its sessions to one client after another: notifications would be lost.
  if (isPooled(client, pid))
    return new Unfit('a connection pooler stands in front of the server: connect to the server itself');
  try {
    const { rows } = await client.query<{ version: number }>(
      limitedQuery('select gw_cluster.version() as version', connectTimeoutMs),
    );
    const version = Number(rows[0]?.version);
    if (version === SCHEMA_VERSION) return undefined;
    const remedy = version > SCHEMA_VERSION ? 'use a newer gw' : SETUP;
    return new Unfit(`its tables are of version ${version}, this gw needs ${SCHEMA_VERSION}: ${remedy}`);
  } catch (error) {
    const { code = '' } = error as WireError;
    if (MISSING.has(code)) return new Unfit(`it has no tables of clusters: ${SETUP}`);
    if (code === FORBIDDEN) return new Unfit(`role "${role}" may not use its tables: ${SETUP} for it`);
    throw error;
  }
}

/** The role of the set-up, or one that the operator has named, does not exist. */
function isUnknownRole(error: unknown): boolean {
  const { code, message } = error as WireError;
  return code === INVALID_AUTHORIZATION && /role ".*" does not exist/s.test(message);
}

async function endGently(client: WireClient): Promise<void> {
  const { stream } = client.connection;
  const timer = setTimeout(() => stream.destroy(), GOODBYE_MS);
  await client.end().catch(() => undefined);
  clearTimeout(timer);
}
