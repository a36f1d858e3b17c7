import { Batch, type Results, StatementNames, type RunStep } from './batch.ts';
import { type Attempt, type Pg, sendCancel, type WireClient, type WireError } from './connection.ts';

/** What requests may leave in a session. */
export type Leftovers = 'nothing' | 'settings' | 'anything';

const BY_AMOUNT: readonly Leftovers[] = ['nothing', 'settings', 'anything'];

/** The more of two. */
function more(one: Leftovers, other: Leftovers): Leftovers {
  return BY_AMOUNT.indexOf(one) < BY_AMOUNT.indexOf(other) ? other : one;
}

/** `RESET ALL` does not touch the role. */
const NO_ROLE = `pg_catalog.set_config('role', 'none', false)`;
const NO_LOCKS = 'pg_catalog.pg_advisory_unlock_all()';

/**
 * The statements that rid a session of it, in front of the next request and in its transaction: that costs no round trip,
 * and a request that fails leaves nothing half done. What `DISCARD ALL` discards, but for the plans, which cost the most
 * and hold nothing of a request. `own`: a call that makes the session's own settings again.
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

/** Calls functions whose results nobody needs. */
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

/** The connection broke, or was given up at the deadline, while a batch was under way. */
export class ConnectionLost extends Error {
  /** The server may still be at work: sending the same again would only add to it. */
  readonly late: boolean;

  constructor(message: string, late: boolean) {
    super(message);
    this.late = late;
  }
}

/** The server answered something else than one row per statement. */
export class UnexpectedResult extends Error {}

/** Looks at what the statements of a batch gave, before their transaction ends; what it throws undoes them. */
export type Verdict = (results: Results) => void;

/** What holds for one batch beside its deadline. */
interface BatchRules {
  /** A transaction that the statements leave open is committed, or undone by it. */
  readonly verdict?: Verdict | undefined;
  /** What requests of before left in the session is discarded first. */
  readonly resets?: boolean;
  /** What it may leave in the session in its turn; default: settings. */
  readonly leaves?: Leftovers;
}

/** An open connection, and how another one gets there. */
interface SessionOptions {
  readonly client: WireClient;
  readonly attempt: Attempt;
  /** Calls in SQL that make the settings that every session has of us. */
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
  /** The end of a transaction that the batch left open. */
  ending?: Batch | undefined;
}

/** One connection to PostgreSQL that runs one batch at a time. */
export class Session {
  readonly #pg: Pg;
  readonly #client: WireClient;
  readonly #attempt: Attempt;
  readonly #ended: (session: Session) => void;
  readonly #names = new StatementNames(PREPARED_STATEMENTS);
  readonly #reset: (leftovers: Leftovers) => readonly RunStep[];
  #leftovers: Leftovers = 'nothing';
  #running: Running | undefined;
  /** Not to be used again. */
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
   * Runs statements as one transaction in one round trip; gives the last row of each that has no sink. Rejects with the
   * server's error (`WireError` with a `code`), what a sink threw, or `ConnectionLost`, and not before the session is
   * ready for the next batch.
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

  /** Stops what runs; `run` then rejects once neither the query nor the cancel is under way any more. */
  cancel(): void {
    const running = this.#running;
    if (!running || running.cancelling || this.broken) return;
    running.cancelling = sendCancel(this.#pg, this.#attempt, this.#client).catch((error: Error) =>
      this.#die(error),
    );
  }

  /** How long the server has been waiting for whoever takes the rows. */
  get stalledMs(): number {
    return this.#running?.batch.stalledMs ?? 0;
  }

  /** Gives up what runs; `run` rejects with `ConnectionLost`. */
  drop(reason: string): void {
    this.#die(new ConnectionLost(reason, true));
  }

  /** Says goodbye when the connection still works, else just drops it. */
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
    // An open transaction would be handed to the next request.
    if (status !== 'I') this.broken = true;
    if (running?.cancelling) void running.cancelling.then(() => this.#settle(running));
    else if (running) this.#settle(running);
  }

  /**
   * Once more with statements that are parsed anew, when the server refused one that was prepared: it has forgotten it, or
   * it gives other columns since the schema was changed. Nothing of the batch is left then, so that a write may do so too.
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

  /** A `begin` of the batch is open: until the verdict, or because an error made the server skip its end. */
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
    // What was discarded is there again when the transaction was undone.
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

/** SQLSTATEs after which the server drops the connection, or its prepared statements cannot be relied on. */
function endsSession({ code = '', severity }: WireError): boolean {
  return severity === 'FATAL' || code.startsWith('08') || /^57P0[1-3]$/.test(code) || code === '26000';
}

/**
 * A prepared statement is not what it was (`invalid_sql_statement_name`, "cached plan must not change result type"): the
 * batch's own, not one within a function.
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
