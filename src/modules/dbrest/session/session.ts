import { Batch, type Results, StatementNames, type RunStep } from './batch.ts';
import { type Attempt, type Pg, sendCancel, type WireClient, type WireError } from './connection.ts';

/** What requests may leave behind in a session. */
export type Leftovers = 'nothing' | 'settings' | 'anything';

const BY_AMOUNT: readonly Leftovers[] = ['nothing', 'settings', 'anything'];

/** The greater of two. */
function more(one: Leftovers, other: Leftovers): Leftovers {
  return BY_AMOUNT.indexOf(one) < BY_AMOUNT.indexOf(other) ? other : one;
}

/** `RESET ALL` does not reset the role. */
const NO_ROLE = `pg_catalog.set_config('role', 'none', false)`;
const NO_LOCKS = 'pg_catalog.pg_advisory_unlock_all()';

/**
 * Compiles the reset of a session. It runs before the statements of the next request, in their transaction, so it costs no
 * round trip and a failed request leaves nothing half reset. It corresponds to `DISCARD ALL` without the plans, which are
 * expensive and hold no data of requests. `own`: SQL calls that restore the session's own settings.
 */
function compileReset(own: readonly string[]): (leftovers: Leftovers) => readonly RunStep[] {
  const calls = [NO_ROLE, ...own];
  const settings = ['reset all', selectNothing(calls)].map(silent);
  const all = [
    'close all',
    'set session authorization default',
    'reset all',
    selectNothing([...calls, NO_LOCKS]),
    'unlisten *',
    'discard temp',
    'discard sequences',
  ].map(silent);
  return (leftovers) => (leftovers === 'nothing' ? [] : leftovers === 'settings' ? settings : all);
}

/** Calls functions and discards their results. */
function selectNothing(calls: readonly string[]): string {
  return `select from (select ${calls.join(', ')}) s`;
}

function silent(text: string): RunStep {
  return { statement: { text, values: [] }, silent: true };
}

const PREPARED_STATEMENTS = 256;
const GOODBYE_MS = 1_000;
const COMMIT: RunStep = { statement: { text: 'commit', values: [] }, silent: true };
const ROLLBACK: RunStep = { statement: { text: 'rollback', values: [] }, silent: true };

/** The connection broke, or was closed at the deadline, during a batch. */
export class ConnectionLost extends Error {
  /** The server may still be running the statements, so a retry would only add load. */
  readonly late: boolean;

  constructor(message: string, late: boolean) {
    super(message);
    this.late = late;
  }
}

/** A statement did not return exactly one row. */
export class UnexpectedResult extends Error {}

/** Checks the results of a batch before the commit; an exception rolls it back. */
export type Verdict = (results: Results) => void;

/** Options of one batch. */
interface BatchRules {
  /** Called if the statements leave a transaction open; decides between commit and rollback. */
  readonly verdict?: Verdict | undefined;
  /** The session is reset first. */
  readonly resets?: boolean;
  /** What the batch may leave behind; settings by default. */
  readonly leaves?: Leftovers;
}

/** An open connection and the attempt that led to it. */
interface SessionOptions {
  readonly client: WireClient;
  readonly attempt: Attempt;
  /** SQL calls that set the session's own settings. */
  readonly settings?: readonly string[];
  readonly ended: (session: Session) => void;
}

interface Running extends BatchRules {
  batch: Batch;
  readonly deadline: NodeJS.Timeout;
  readonly resolve: (results: Results) => void;
  readonly reject: (error: Error) => void;
  isRepeated?: true;
  cancelling?: Promise<void>;
  /** The commit or rollback of a transaction that the batch left open. */
  ending?: Batch | undefined;
}

/** One session of PostgreSQL; it runs one batch at a time. */
export class Session {
  readonly #pg: Pg;
  readonly #client: WireClient;
  readonly #attempt: Attempt;
  readonly #ended: (session: Session) => void;
  readonly #names = new StatementNames(PREPARED_STATEMENTS);
  readonly #reset: (leftovers: Leftovers) => readonly RunStep[];
  #leftovers: Leftovers = 'nothing';
  #running: Running | undefined;
  /** The session must not be used again. */
  broken = false;

  constructor(pg: Pg, how: SessionOptions) {
    this.#pg = pg;
    this.#client = how.client;
    this.#attempt = how.attempt;
    this.#ended = how.ended;
    this.#reset = compileReset(how.settings ?? []);
    how.client.on('error', (error) => this.#die(error));
    how.client.on('end', () => this.#die(new Error('Connection terminated')));
    how.client.connection.on('parseComplete', () => this.#names.parseComplete());
    how.client.connection.on('readyForQuery', ({ status }: { status: string }) => this.#ready(status));
  }

  /**
   * Runs statements as one transaction in one round trip and returns the last row of each statement without a sink. Rejects
   * with an error of the server (`WireError` with a `code`), an exception of a sink, or `ConnectionLost`, once the session
   * is ready for the next batch or broken.
   */
  run(steps: readonly RunStep[], deadlineMs: number, rules: BatchRules = {}): Promise<Results> {
    if (this.broken) return Promise.reject(new ConnectionLost('Connection terminated', false));
    return new Promise((resolve, reject) => {
      const batch = new Batch(steps, this.#names, rules.resets ? this.#reset(this.#leftovers) : []);
      const deadline = setTimeout(() => this.#timeOut(), deadlineMs);
      this.#running = { ...rules, batch, deadline, resolve, reject };
      this.#client.query(batch);
    });
  }

  /** Cancels the running batch. `run` rejects once neither the query nor the cancel request is pending. */
  cancel(): void {
    const running = this.#running;
    if (!running || running.cancelling || this.broken) return;
    running.cancelling = sendCancel(this.#pg, this.#attempt, this.#client).catch((error: Error) =>
      this.#die(error),
    );
  }

  /** How long the server has been waiting for a sink. */
  get stalledMs(): number {
    return this.#running?.batch.stalledMs ?? 0;
  }

  /** Closes the connection; `run` rejects with `ConnectionLost`. */
  drop(reason: string): void {
    this.#die(new ConnectionLost(reason, true));
  }

  /** Ends the session, or destroys the connection if it is broken. */
  async end(): Promise<void> {
    const { stream } = this.#client.connection;
    if (this.broken) {
      stream.destroy();
      return;
    }
    const timer = setTimeout(() => stream.destroy(), GOODBYE_MS);
    await this.#client.end();
    clearTimeout(timer);
  }

  #ready(status: string): void {
    this.#names.batchEnded();
    const running = this.#running;
    if (running && !running.ending) judge(running);
    if (status !== 'I' && running && !running.ending) return this.#endTransaction(running);
    if (status === 'I' && running && this.#repeats(running)) return;
    // A session with an open transaction must not be reused.
    if (status !== 'I') this.broken = true;
    if (running?.cancelling) void running.cancelling.then(() => this.#settle(running));
    else if (running) this.#settle(running);
  }

  /**
   * Repeats a batch with newly parsed statements, if the server rejected a prepared statement because it was lost or its
   * result type has changed. The failed batch had no effect, so this is safe for writes too.
   */
  #repeats(running: Running): boolean {
    const { batch, isRepeated, cancelling } = running;
    if (isRepeated || cancelling || batch.hasBegun || !batch.error || !isOutdated(batch.error)) return false;
    this.#names.forget();
    running.isRepeated = true;
    running.ending = undefined;
    running.batch = new Batch(batch.steps, this.#names, batch.lead);
    this.#client.query(running.batch);
    return true;
  }

  /** Ends a transaction that is still open: to await the verdict, or because an error made the server skip its end. */
  #endTransaction(running: Running): void {
    const { batch, verdict, cancelling } = running;
    if (cancelling) batch.error ??= new ConnectionLost('cancelled', true);
    const isKept = verdict !== undefined && batch.error === undefined;
    running.ending = new Batch([isKept ? COMMIT : ROLLBACK], this.#names);
    this.#client.query(running.ending);
  }

  #settle(running: Running): void {
    if (this.#running !== running) return;
    this.#running = undefined;
    clearTimeout(running.deadline);
    const { results, steps } = running.batch;
    const error = running.batch.error ?? running.ending?.error;
    // A rollback also undoes the reset.
    const before = running.resets === true && !error ? 'nothing' : this.#leftovers;
    this.#leftovers = more(before, running.leaves ?? 'settings');
    if (error && endsSession(error)) this.broken = true;
    if (error) return running.reject(error);
    const lacks = steps.some(({ silent, sink }, i) => !silent && !sink && !results[i]);
    if (lacks) running.reject(new UnexpectedResult('a statement gave no row'));
    else running.resolve(results);
  }

  #timeOut(): void {
    const late =
      this.stalledMs > 0
        ? 'the client did not read the response in time'
        : 'the database did not finish in time';
    this.drop(late);
  }

  #die(error: Error): void {
    const wasBroken = this.broken;
    this.broken = true;
    if (!wasBroken) this.#ended(this);
    this.#client.connection.stream.destroy();
    const running = this.#running;
    if (!running) return;
    running.batch.error ??=
      error instanceof ConnectionLost ? error : new ConnectionLost(error.message, false);
    this.#settle(running);
  }
}

/** Returns whether the server closes the connection after an error, or its prepared statements are lost. */
function endsSession({ code = '', severity }: WireError): boolean {
  return severity === 'FATAL' || code.startsWith('08') || /^57P0[1-3]$/.test(code) || code === '26000';
}

/**
 * Returns whether a prepared statement of the batch itself, and not of a function, is lost or outdated
 * (`invalid_sql_statement_name`, "cached plan must not change result type").
 */
function isOutdated({ code, routine, where }: WireError): boolean {
  if (where !== undefined) return false;
  return code === '26000' || (code === '0A000' && routine === 'RevalidateCachedQuery');
}

function judge({ batch, verdict }: Running): void {
  if (batch.error) return;
  try {
    verdict?.(batch.results);
  } catch (error) {
    batch.error = error as Error;
  }
}
