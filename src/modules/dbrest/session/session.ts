import {
  type Attempt,
  type Pg,
  sendCancel,
  type WireClient,
  type WireError,
} from '../../../postgres/index.ts';
import {
  Batch,
  type BatchRules,
  compileLead,
  type Leftovers,
  more,
  type Results,
  type RunStep,
} from './batch.ts';
import { endsSession, Messages, StatementNames } from './extended-query.ts';

/** As measured, the server needs 30 to 130 bytes for each character of a long statement that is prepared. */
const PREPARED = { statements: 256, characters: 524_288 } as const;
/** Each time zone that a session has used takes 24 kB of its process until it ends. Longer names are refused. */
const TIME_ZONES = { most: 500, longest: 255 } as const;
const GOODBYE_MS = 1_000;
const COMMIT: RunStep = { statement: { text: 'commit', values: [] }, silent: true };
const ROLLBACK: RunStep = { statement: { text: 'rollback', values: [] }, silent: true };
/** SQLSTATE of a statement that was cancelled, or ran into `statement_timeout`. */
const CANCELED = '57014';

/** The connection broke, or was closed at the deadline, during a batch. */
export class ConnectionLost extends Error {
  /** The server may still be running the statements, so a retry would only add load. */
  readonly late: boolean;

  constructor(message: string, late: boolean) {
    super(message);
    this.late = late;
  }
}

/** A batch that shared its session had no effect, and should run again in a session of its own. */
export class Displaced extends Error {
  /** It took longer or returned more than such a batch may; otherwise the cancel request for another one hit it. */
  readonly isCostly: boolean;

  constructor(isCostly: boolean) {
    super('displaced');
    this.isCostly = isCostly;
  }
}

/** A statement did not return exactly one row. */
export class UnexpectedResult extends Error {}

/** An open connection and the attempt that led to it. */
export interface SessionOptions {
  readonly client: WireClient;
  readonly attempt: Attempt;
  /** SQL calls that set the session's own settings. */
  readonly settings?: readonly string[];
  /** A pooler is in between: each transaction may run in another session of the server, which others use as well. */
  readonly isPooled: boolean;
  readonly ended: (session: Session) => void;
  /** Called with the number of batches of each write to the server. */
  readonly flushed?: (batches: number) => void;
}

interface Running {
  readonly rules: BatchRules;
  batch: Batch;
  readonly deadlineMs: number;
  readonly resolve: (results: Results) => void;
  readonly reject: (error: Error) => void;
  sentMs: number;
  isRepeated?: true;
  cancelling?: Promise<void>;
  /** A cancel request for the batch before it may hit it. */
  mayBeHit?: true;
  /** Its deadline has passed. */
  isGivenUp?: true;
  /** It is cancelled because others wait for it. */
  isEvicted?: true;
  /** The last check found it late. */
  isLate?: true;
  /** The commit or rollback of a transaction that the batch left open. */
  ending?: Batch | undefined;
}

/** A batch that others wait for is cancelled after this time, if two checks in a row find it late. */
const LATE_MS = 20;
/** A session that does not react to a cancel request for this long is dropped. */
const DEAF_MS = 500;

/**
 * One session of PostgreSQL. A batch has it to itself, or shares it with others that are sent behind it: each is a
 * transaction of its own that ends with its own Sync, and the server runs them in order.
 */
export class Session {
  readonly #pg: Pg;
  readonly #client: WireClient;
  readonly #attempt: Attempt;
  readonly #ended: (session: Session) => void;
  readonly #flushed: ((batches: number) => void) | undefined;
  readonly #names: StatementNames;
  readonly #lead: ReturnType<typeof compileLead>;
  /** The state that batches which have ended may have left. */
  #leftovers: Leftovers = 'nothing';
  /** The epoch of the oldest plans; `undefined` before there are any. */
  #planEpoch: number | undefined;
  readonly #timeZones = new Set<string>();
  /** The batches that were sent, in the order of their results. */
  readonly #queue: Running[] = [];
  /** A batch that has ended while its cancel request is still on its way. */
  #cancelled: Running | undefined;
  readonly #deadlines = new DeadlineTimer((nowMs) => this.#timeOut(nowMs));
  #messages: Messages | undefined;
  #unsent = 0;
  #readyMs = 0;
  #cancelledMs = 0;
  /** See `SessionOptions`. */
  readonly isPooled: boolean;
  /** The session must not be used again. Batches that were sent may still end well. */
  broken = false;
  #isConnected = true;

  constructor(pg: Pg, how: SessionOptions) {
    this.#pg = pg;
    this.#client = how.client;
    this.#attempt = how.attempt;
    this.#ended = how.ended;
    this.#flushed = how.flushed;
    this.isPooled = how.isPooled;
    this.#names = new StatementNames({ ...PREPARED, isPooled: how.isPooled });
    this.#lead = compileLead({ own: how.settings ?? [], isPooled: how.isPooled });
    how.client.on('error', (error) => this.#die(error));
    how.client.on('end', () => this.#die(new Error('Connection terminated')));
    this.#takeOver();
  }

  /**
   * Runs statements as one transaction in one round trip and returns the last row of each statement without a sink.
   * Rejects with an error of the server (`WireError` with a `code`), an exception of a sink, `Displaced`, or
   * `ConnectionLost`, once the batch has ended or the session is broken.
   */
  run(steps: readonly RunStep[], deadlineMs: number, rules: BatchRules = {}): Promise<Results> {
    if (this.broken) return Promise.reject(new ConnectionLost('Connection terminated', false));
    for (const zone of rules.timeZones ?? [])
      if (zone.length <= TIME_ZONES.longest) this.#timeZones.add(zone);
    return new Promise((resolve, reject) => {
      const batch = this.#newBatch(steps, rules);
      const nowMs = performance.now();
      const running: Running = {
        rules,
        batch,
        deadlineMs: nowMs + deadlineMs,
        resolve,
        reject,
        sentMs: Infinity,
      };
      this.#deadlines.add(running.deadlineMs, nowMs);
      this.#send(running, batch);
      this.#queue.push(running);
    });
  }

  /** The number of batches that have not ended. */
  get length(): number {
    return this.#queue.length;
  }

  /**
   * True if another batch may be sent behind the others. Not through a pooler: it may take the session away at the end
   * of a transaction, between the messages of the next one, which would run without the role that they set.
   */
  get isOpen(): boolean {
    if (this.isPooled && this.#queue.length > 0) return false;
    return !this.isSpent && !this.#isCancelling && this.#queue[0]?.isLate === undefined;
  }

  /** True if the session is to be closed once its batches have ended. */
  get isSpent(): boolean {
    return this.broken || this.#timeZones.size >= TIME_ZONES.most;
  }

  get #isCancelling(): boolean {
    return this.#cancelled !== undefined || this.#queue[0]?.cancelling !== undefined;
  }

  /** Cancels the running batch. `run` rejects once neither the query nor the cancel request is pending. */
  cancel(): void {
    const [running] = this.#queue;
    if (!running || this.#isCancelling || !this.#isConnected) return;
    for (const other of this.#queue) if (other !== running) other.mayBeHit = true;
    this.#cancelledMs = performance.now();
    running.cancelling = sendCancel(this.#pg, this.#attempt, this.#client).catch((error: Error) =>
      this.#die(error),
    );
  }

  /**
   * Looks after batches that share the session; called every few milliseconds. The first one is cancelled if it is late
   * and others wait for it, or its client has gone; a session that does not react is dropped.
   */
  check(nowMs: number): void {
    const [running] = this.#queue;
    if (this.#isCancelling) {
      if (nowMs - this.#cancelledMs > DEAF_MS)
        this.#die(new ConnectionLost('the server did not react to a cancel request', false));
      return;
    }
    if (!running?.rules.shared || nowMs - Math.max(running.sentMs, this.#readyMs) < LATE_MS) return;
    // A busy gateway may not have read the results yet: it does so before the next check.
    if (!running.isLate) running.isLate = true;
    else if (running.rules.shared.client.aborted) this.cancel();
    else if (this.#queue.length > 1) {
      running.isEvicted = true;
      this.cancel();
    }
  }

  /** The time for which the server has been waiting for a sink. */
  get stalledMs(): number {
    return this.#queue[0]?.batch.stalledMs ?? 0;
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
    this.#deadlines.stop();
    const timer = setTimeout(() => stream.destroy(), GOODBYE_MS);
    await this.#client.end();
    clearTimeout(timer);
  }

  /** pg passes the messages of the server to one query at a time; from here on they are passed to the oldest batch. */
  #takeOver(): void {
    const { connection } = this.#client;
    const hear = <Message>(event: string, act: (message: Message) => void): void => {
      connection.removeAllListeners(event);
      connection.on(event, act);
    };
    const toBatch = (event: 'bindComplete' | 'rowDescription' | 'dataRow' | 'commandComplete'): void =>
      hear(event, (message: never) => this.#current?.[event](message));
    for (const event of ['bindComplete', 'rowDescription', 'dataRow', 'commandComplete'] as const)
      toBatch(event);
    for (const event of ['emptyQuery', 'portalSuspended', 'copyInResponse', 'copyData'])
      hear(event, () => undefined);
    hear('parseComplete', () => this.#names.parseComplete());
    hear('errorMessage', (error: WireError) => {
      if (this.#current) this.#current.failed(error);
      else this.#die(error);
    });
    hear('readyForQuery', ({ status }: { status: string }) => this.#ready(status));
  }

  get #current(): Batch | undefined {
    const [running] = this.#queue;
    return running?.ending ?? running?.batch;
  }

  #newBatch(steps: readonly RunStep[], rules: BatchRules): Batch {
    const { isolation, resets = this.isPooled, planEpoch = 0, shared, prepares = 'auto' } = rules;
    const { stream } = this.#client.connection;
    this.#planEpoch ??= planEpoch;
    const replans = planEpoch > this.#planEpoch;
    this.#names.enter(planEpoch);
    const leftovers = resets ? this.#expectedLeftovers() : 'nothing';
    const lead = this.#lead({ isolation, leftovers, replans });
    const isPrepared = prepares === 'on' || (prepares === 'auto' && !this.isPooled);
    return new Batch({ steps, lead, stream, most: shared?.most, prepares: isPrepared });
  }

  /** Sends a batch. All batches of one turn of the event loop go out in the same write. */
  #send(running: Running, batch: Batch): void {
    if (!this.#messages) {
      this.#messages = new Messages();
      setImmediate(() => this.#flush());
    }
    batch.write(this.#messages, this.#names);
    this.#unsent += 1;
    running.sentMs = Infinity;
  }

  #flush(): void {
    const messages = this.#messages;
    this.#messages = undefined;
    this.#flushed?.(this.#unsent);
    this.#unsent = 0;
    if (!this.#isConnected) return;
    const nowMs = performance.now();
    for (const running of this.#queue) if (running.sentMs === Infinity) running.sentMs = nowMs;
    messages?.sendTo(this.#client.connection.stream);
  }

  /** The state that all batches that were sent may leave. A failed batch undoes its own reset. */
  #expectedLeftovers(): Leftovers {
    // Other clients of the pooler have used it before.
    if (this.isPooled) return 'anything';
    let expected = this.#leftovers;
    for (const { rules } of this.#queue) expected = more(expected, rules.leaves ?? 'settings');
    return expected;
  }

  #ready(status: string): void {
    this.#names.batchEnded();
    const [running] = this.#queue;
    if (!running) return;
    running.batch.end();
    if (!running.ending) judge(running);
    if (status !== 'I' && !running.ending) return this.#endTransaction(running);
    const nowMs = performance.now();
    const turnMs = nowMs - Math.max(running.sentMs, this.#readyMs);
    this.#readyMs = nowMs;
    this.#queue.shift();
    if (status === 'I' && this.#repeats(running)) return;
    this.#noteEffects(running);
    // A session with an open transaction must not be reused.
    if (status !== 'I') this.broken = true;
    if (!running.batch.error) running.rules.measured?.({ turnMs, characters: running.batch.characters });
    if (!running.cancelling) return this.#settle(running);
    this.#cancelled = running;
    void running.cancelling.then(() => {
      this.#cancelled = undefined;
      this.#settle(running);
    });
  }

  #noteEffects(running: Running): void {
    const { resets, planEpoch = 0, leaves = 'settings' } = running.rules;
    const hasFailed = errorOf(running) !== undefined;
    // A rollback also undoes the reset.
    this.#leftovers = more(resets === true && !hasFailed ? 'nothing' : this.#leftovers, leaves);
    // It may have failed before it discarded plans.
    if (!hasFailed) this.#planEpoch = Math.max(planEpoch, this.#planEpoch ?? 0);
  }

  /**
   * Repeats a batch with newly parsed statements, if the server rejected a prepared statement that was lost, or whose
   * result or parameters may have other types now. The failed batch had no effect, so this is safe for writes, too.
   */
  #repeats(running: Running): boolean {
    const { batch, isRepeated, cancelling } = running;
    const { outdated } = batch;
    if (isRepeated || cancelling || batch.hasBegun || !outdated) return false;
    const { text } = outdated;
    // Behind a pooler, other sessions of the server may still have the other statements.
    this.#names.forget(text !== undefined ? [text] : this.isPooled ? batch.texts : undefined);
    running.isRepeated = true;
    running.ending = undefined;
    running.batch = this.#newBatch(batch.steps, running.rules);
    this.#send(running, running.batch);
    this.#queue.push(running);
    return true;
  }

  /** Ends a transaction that is still open: to await the verdict, or because an error made the server skip its end. */
  #endTransaction(running: Running): void {
    const { batch, rules, cancelling } = running;
    if (cancelling) batch.error ??= new ConnectionLost('cancelled', true);
    const isKept = rules.verdict !== undefined && batch.error === undefined;
    const { stream } = this.#client.connection;
    // The end must not depend on prepared statements.
    running.ending = new Batch({ steps: [isKept ? COMMIT : ROLLBACK], stream, prepares: false });
    this.#send(running, running.ending);
  }

  #settle(running: Running): void {
    const { results, steps, outgrown } = running.batch;
    const error = errorOf(running);
    if (error) running.rules.failed?.(running.batch.failedStep);
    if (error && endsSession(error)) this.broken = true;
    if (isDisplaced(running, error)) return running.reject(new Displaced(running.isEvicted === true));
    if (error) return running.reject(error);
    if (outgrown) return running.reject(new Displaced(true));
    const lacks = steps.some(({ silent, sink }, i) => !silent && !sink && !results[i]);
    if (lacks) running.reject(new UnexpectedResult('a statement gave no row'));
    else running.resolve(results);
  }

  /** Gives up the batches whose deadline has passed; returns the earliest deadline of the others. */
  #timeOut(nowMs: number): number {
    let earliestMs = Infinity;
    for (const running of this.#pending()) {
      if (running.isGivenUp) continue;
      if (running.deadlineMs <= nowMs) this.#giveUp(running);
      else earliestMs = Math.min(earliestMs, running.deadlineMs);
    }
    return this.#isConnected ? earliestMs : Infinity;
  }

  /** A batch that waits for others is given up alone; its results are dropped when they come. */
  #giveUp(running: Running): void {
    running.isGivenUp = true;
    const reason =
      this.stalledMs > 0
        ? 'the client did not read the response in time'
        : 'the database did not finish in time';
    if (this.#queue.indexOf(running) > 0) running.reject(new ConnectionLost(reason, true));
    else this.drop(reason);
  }

  #pending(): readonly Running[] {
    return [...this.#queue, ...(this.#cancelled ? [this.#cancelled] : [])];
  }

  /** Only the first batch can be late: those behind it have not begun. */
  #die(error: Error): void {
    const wasConnected = this.#isConnected;
    this.broken = true;
    this.#isConnected = false;
    this.#deadlines.stop();
    if (wasConnected) this.#ended(this);
    this.#client.connection.stream.destroy();
    const [first] = this.#queue;
    const pending = this.#pending();
    this.#queue.length = 0;
    for (const running of pending) {
      const isLate = running === first && error instanceof ConnectionLost && error.late;
      // A batch that would have been repeated had no effect: its request gets the loss of the connection instead.
      if (!running.batch.error || running.batch.outdated)
        running.batch.error = new ConnectionLost(error.message, isLate);
      this.#settle(running);
    }
  }
}

function errorOf({ batch, ending }: Running): WireError | undefined {
  return batch.error ?? ending?.error;
}

/**
 * Returns whether a batch failed only because it shared its session: it was cancelled for others, or its statement was
 * outdated before the cancel request arrived, which is why it was not repeated.
 */
function isDisplaced({ batch, isEvicted, mayBeHit }: Running, error: WireError | undefined): boolean {
  if (!error || (isEvicted ?? mayBeHit) !== true) return false;
  return error.code === CANCELED || batch.outdated !== undefined;
}

function judge({ batch, rules }: Running): void {
  if (batch.error) return;
  try {
    rules.verdict?.(batch.results);
  } catch (error) {
    batch.error = error as Error;
  }
}

/**
 * One timer for the deadlines of many requests. A timer for each would take a twentieth of the time of a small request.
 * The timer does not keep the thread alive.
 */
export class DeadlineTimer {
  readonly #due: (nowMs: number) => number;
  #timer: NodeJS.Timeout | undefined;
  #atMs = Infinity;

  /** `due` acts on the deadlines that have passed, and returns the earliest of the others, or Infinity. */
  constructor(due: (nowMs: number) => number) {
    this.#due = due;
  }

  /** Adds a deadline, in terms of `performance.now()`. */
  add(atMs: number, nowMs: number): void {
    if (atMs >= this.#atMs) return;
    clearTimeout(this.#timer);
    this.#atMs = atMs;
    this.#timer = setTimeout(this.#fire, Math.ceil(atMs - nowMs)).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#atMs = Infinity;
  }

  readonly #fire = (): void => {
    this.#atMs = Infinity;
    const nowMs = performance.now();
    this.add(this.#due(nowMs), nowMs);
  };
}
