import type { WireClient, WireError } from '../../../postgres/index.ts';
import type { Isolation } from '../schema/index.ts';
import type { Step } from '../sql/index.ts';
import {
  type Fields,
  fieldsOf,
  lostStatements,
  mayHaveOldTypes,
  type Messages,
  type StatementNames,
  type UsedName,
} from './extended-query.ts';

/** A row; every column is a text. */
export type Row = readonly (string | null)[];

/** A column of a result. */
export interface Column {
  readonly name: string;
  /** Object id of its type. */
  readonly dataTypeID: number;
}

/** Receives the rows of a statement one by one. An exception fails the batch. */
export interface RowSink {
  /** `begin` may be called again at any time: the sink passes no row on before the end. */
  readonly restarts?: boolean;
  /** Called first, with the results of the statements before. */
  begin(results: Results): void;
  /** Called only for a `described` statement. */
  columns(columns: readonly Column[]): void;
  /** May return a promise: then no more rows are read until it resolves, apart from those already received. */
  row(fields: Row): Promise<void> | undefined;
}

/** A statement and the sink of its rows. */
export interface RunStep extends Step {
  readonly sink?: RowSink;
  /** Stands before the text of the statement, which is parsed for this use alone. */
  readonly comment?: string;
}

/** The statements of a request, of which the main one has rows for a sink. */
interface RequestSteps {
  /** The steps up to this one set up the transaction. */
  readonly settingsAt: number;
  readonly before: readonly Step[];
  readonly main: Step;
  readonly after: readonly Step[];
}

/**
 * The steps of a request in their order. `sink`: where the rows of its main statement go. `comment`: what its statements
 * begin with, apart from those that open, set up and end the transaction.
 */
export function runSteps(
  { before, main, after, settingsAt }: RequestSteps,
  sink: RowSink | undefined,
  comment?: string,
): readonly RunStep[] {
  const steps = [...before, sink ? { ...main, sink } : main, ...after];
  if (comment === undefined) return steps;
  return steps.map((step, i) => (i > settingsAt && !step.silent ? { ...step, comment } : step));
}

/** The last row of each statement without a sink. */
export type Results = readonly (Row | undefined)[];

/** Checks the results of a batch before the commit; an exception rolls it back. */
export type Verdict = (results: Results) => void;

/** The values of `dbrest_prepared_statements`. */
export type PreparedStatements = 'on' | 'off' | 'auto';

/** The cost of a batch. */
export interface Cost {
  /** Time between its turn and its end, in milliseconds. */
  readonly turnMs: number;
  /** Characters of the rows for sinks. */
  readonly characters: number;
}

/** Options of one batch. */
export interface BatchRules {
  /** Called if the statements leave a transaction open; decides between commit and rollback. */
  readonly verdict?: Verdict | undefined;
  /** The isolation level of its transaction; that of the session if absent. */
  readonly isolation?: Isolation | undefined;
  /** The session is reset first; by default if it is one of a pooler. */
  readonly resets?: boolean;
  /** Plans and prepared statements of an earlier epoch are discarded first. */
  readonly planEpoch?: number;
  /** `on`: its statements are prepared; `auto`, the default: unless a pooler is in between. */
  readonly prepares?: PreparedStatements | undefined;
  /** The state that the batch may leave in the session; settings by default. */
  readonly leaves?: Leftovers | undefined;
  /** The time zones that the batch sets. */
  readonly timeZones?: readonly string[] | undefined;
  /** The batch shares the session with others. It must not leave a transaction open. */
  readonly shared?: SharedRules | undefined;
  /** Called at the end of a batch that succeeded. */
  readonly measured?: ((cost: Cost) => void) | undefined;
  /** Called before `run` rejects, with the index of the step that failed, if one did. */
  readonly failed?: ((step: number | undefined) => void) | undefined;
}

/** Options of a batch that shares its session. */
interface SharedRules {
  /** Once it has gone, the batch is cancelled instead of being displaced. */
  readonly client: { readonly aborted: boolean };
  /** A batch whose sinks would receive more characters is displaced. */
  readonly most?: number | undefined;
}

/** The parts of a batch. */
interface BatchParts {
  readonly steps: readonly RunStep[];
  /** Statements before the steps; their results are discarded. */
  readonly lead?: readonly RunStep[];
  /** The connection's stream, which is paused while a sink is full. */
  readonly stream: WireClient['connection']['stream'];
  /** With more characters than this the sinks get no more rows, and the batch is `outgrown`. */
  readonly most?: number | undefined;
  /** Statements are prepared; otherwise they are parsed each time. */
  readonly prepares: boolean;
}

/**
 * Statements that are sent at once with a single Sync, so that PostgreSQL runs them as one implicit transaction. The
 * session passes it the messages of the server, and decides when it has ended.
 */
export class Batch {
  readonly results: (Row | undefined)[] = [];
  error: Error | undefined;
  /** The index of the step that failed, if one did. */
  failedStep: number | undefined;
  /** A sink that cannot begin again has received something. */
  hasBegun = false;
  /** Characters of the rows for sinks. */
  characters = 0;
  readonly steps: readonly RunStep[];
  readonly #lead: readonly RunStep[];
  readonly #stream: WireClient['connection']['stream'];
  readonly #most: number;
  readonly #prepares: boolean;
  /** Number of completed steps; negative during the lead. */
  #completed: number;
  /** Number of steps whose values are bound, which have begun to run; it counts as `#completed` does. */
  #bound: number;
  /** For each statement, those of the lead included: this batch has parsed it. */
  #isParsed: readonly boolean[] = [];
  #begun = false;
  #hasEnded = false;
  #pausedAtMs: number | undefined;

  constructor({ steps, lead = [], stream, most = Infinity, prepares }: BatchParts) {
    this.steps = steps;
    this.#lead = lead;
    this.#completed = -lead.length;
    this.#bound = -lead.length;
    this.#stream = stream;
    this.#most = most;
    this.#prepares = prepares;
  }

  /** The texts of all statements. */
  get texts(): readonly string[] {
    return this.#all.map(({ statement }) => statement.text);
  }

  get #all(): readonly RunStep[] {
    return this.#lead.length > 0 ? [...this.#lead, ...this.steps] : this.steps;
  }

  /** The time for which a sink has kept the server waiting. */
  get stalledMs(): number {
    return this.#pausedAtMs === undefined ? 0 : performance.now() - this.#pausedAtMs;
  }

  /** The sinks have not received all rows. */
  get outgrown(): boolean {
    return this.characters > this.#most;
  }

  /** Adds the messages of the batch: all of them, or none if it throws. */
  write(messages: Messages, names: StatementNames): void {
    const steps = this.#all;
    // Before anything is added: other batches share the write, and half a batch would run as a part of the next one.
    const fields = steps.map(({ statement }) => fieldsOf(statement.values));
    // Close comes first: after an error the server would skip it. The batch may use a statement that it evicts.
    for (const name of names.evicted()) messages.close(name);
    const named: UsedName[] = [];
    let isBehindSink = false;
    for (const { statement, sink, comment } of steps) {
      const isOnce = comment !== undefined || !this.#prepares;
      named.push(isOnce ? names.useOnce(statement.text) : nameOf(statement.text, names, isBehindSink));
      isBehindSink ||= sink !== undefined && sink.restarts !== true;
    }
    names.batchSent();
    this.#isParsed = named.map(({ parse }) => parse);
    for (let i = 0; i < steps.length; i += 1) {
      const { statement, described, comment = '' } = steps[i] as RunStep;
      const { name, parse } = named[i] as UsedName;
      // Behind a pooler the name may already exist. It names the same statement, which might be outdated.
      if (parse && name !== '') messages.close(name);
      if (parse) messages.parse(name, `${comment}${statement.text}`);
      messages.bind(name, fields[i] as Fields);
      if (described) messages.describe();
      messages.execute();
    }
    messages.sync();
  }

  /**
   * The statements to prepare again before the batch can run, if it failed because of them: one, or all. An old
   * statement is bound to the types that its parameters had when it was parsed.
   */
  get outdated(): { readonly text?: string } | undefined {
    if (!this.error) return undefined;
    if (lostStatements(this.error)) return {};
    const wasBound = this.#bound !== this.#completed;
    const isParsed = this.#isParsed[this.#completed + this.#lead.length] !== false;
    if (wasBound || isParsed || !mayHaveOldTypes(this.error)) return undefined;
    const text = this.steps[this.#completed]?.statement.text;
    return text === undefined ? undefined : { text };
  }

  bindComplete(): void {
    this.#bound += 1;
  }

  rowDescription({ fields }: { readonly fields: readonly Column[] }): void {
    this.#toSink((sink) => sink.columns(fields));
  }

  dataRow({ fields }: { readonly fields: Row }): void {
    if (this.#completed < 0) return;
    if (!this.steps[this.#completed]?.sink) {
      this.results[this.#completed] = fields;
      return;
    }
    for (const field of fields) if (field !== null) this.characters += field.length;
    this.#toSink((sink) => this.#pauseFor(sink.row(fields)));
  }

  /** `text` is a command tag: `INSERT 0 3`, `UPDATE 3`. */
  commandComplete({ text }: { readonly text: string }): void {
    this.#toSink(() => undefined);
    if (this.steps[this.#completed]?.tally) this.results[this.#completed] = [text.replace(/^.* /, '')];
    this.#completed += 1;
    this.#begun = false;
  }

  /** The server skips the rest of the batch. */
  failed(error: WireError): void {
    this.#fail(error);
  }

  /** All results have arrived. A sink that is still full must not block the connection for the batches behind. */
  end(): void {
    this.#hasEnded = true;
    this.#resume();
  }

  /** Calls the sink of the current statement unless it has failed. Its exceptions must not reach the socket. */
  #toSink(say: (sink: RowSink) => void): void {
    const sink = this.steps[this.#completed]?.sink;
    if (!sink || this.error || this.outgrown) return;
    try {
      if (!this.#begun) sink.begin(this.results);
      this.#begun = true;
      this.hasBegun ||= sink.restarts !== true;
      say(sink);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #fail(error: Error): void {
    this.failedStep ??= this.error ? undefined : this.#completed;
    this.error ??= error;
  }

  /** Pauses the socket, which makes the server wait. */
  #pauseFor(ready: Promise<void> | undefined): void {
    if (!ready) return;
    this.#stream.pause();
    this.#pausedAtMs ??= performance.now();
    void ready.then(() => {
      // Another batch may have paused the socket since.
      if (!this.#hasEnded) this.#resume();
    });
  }

  #resume(): void {
    if (this.#pausedAtMs === undefined) return;
    this.#pausedAtMs = undefined;
    this.#stream.resume();
  }
}

function nameOf(text: string, names: StatementNames, isBehindSink: boolean): UsedName {
  // Once a sink has rows, the batch cannot be repeated, so later statements must not depend on earlier batches.
  return isBehindSink ? names.useParsed(text) : names.use(text);
}

/**
 * The state that requests may leave in a session. `sequences`: the last values of sequences. `settings`: all that a
 * function can leave in a read-only transaction, which includes locks, cursors and channels.
 */
export type Leftovers = 'nothing' | 'sequences' | 'settings' | 'anything';

/** Returns the state that two requests together may leave. */
export function more(one: Leftovers, other: Leftovers): Leftovers {
  if (one === other || other === 'nothing') return one;
  return one === 'nothing' ? other : 'anything';
}

/** `RESET ALL` does not reset the role. */
const NO_ROLE = `pg_catalog.set_config('role', 'none', false)`;
const NO_LOCKS = 'pg_catalog.pg_advisory_unlock_all()';
const NO_SEQUENCES = 'discard sequences';
const NO_CURSORS = 'close all';
const NO_CHANNELS = 'unlisten *';
/** Closes statements that a function has prepared in SQL. `deallocate all` would close those of the session, too. */
const NO_STATEMENTS = `do $$ declare own text; begin
  for own in select name from pg_catalog.pg_prepared_statement() where from_sql loop
    execute pg_catalog.format('deallocate %I', own);
  end loop;
end $$`;

/**
 * Compiles the reset of a session. It runs before the statements of the next request, in their transaction, so it costs
 * no round trip and a failed request leaves nothing half reset. It corresponds to `DISCARD ALL` without the plans,
 * which are expensive and hold no data of requests.
 */
function compileReset({ own, isPooled }: Resetting): (leftovers: Leftovers) => readonly RunStep[] {
  const calls = [NO_ROLE, ...own, NO_LOCKS];
  const settings = [NO_CURSORS, 'reset all', selectNothing(calls), NO_CHANNELS].map(silent);
  const sequences = [silent(NO_SEQUENCES)];
  const all = [
    NO_CURSORS,
    'set session authorization default',
    'reset all',
    selectNothing(calls),
    NO_CHANNELS,
    'discard temp',
    NO_SEQUENCES,
    ...(isPooled ? [] : [NO_STATEMENTS]),
  ].map(silent);
  const resets = { nothing: [], sequences, settings, anything: all };
  return (leftovers) => resets[leftovers];
}

/** Calls functions and discards their results. */
function selectNothing(calls: readonly string[]): string {
  return `select from (select ${calls.join(', ')}) s`;
}

function silent(text: string): RunStep {
  return { statement: { text, values: [] }, silent: true };
}

/** The tasks of the statements before those of a request. */
interface LeadTasks {
  /** The level of the transaction; that of the session if absent. */
  readonly isolation: Isolation | undefined;
  /** The state to reset. */
  readonly leftovers: Leftovers;
  /** All statements of the session, also those in functions, are planned again. */
  readonly replans: boolean;
}

interface Resetting {
  /** SQL calls that restore the session's own settings. */
  readonly own: readonly string[];
  /** The reset runs before each request, so it leaves out what is not worth its time. */
  readonly isPooled: boolean;
}

/** Compiles the statements before those of a request. */
export function compileLead(resetting: Resetting): (tasks: LeadTasks) => readonly RunStep[] {
  const reset = compileReset(resetting);
  return ({ isolation, leftovers, replans }) => {
    const steps = replans ? [NO_PLANS, ...reset(leftovers)] : reset(leftovers);
    return isolation ? [ISOLATE[isolation], ...steps] : steps;
  };
}

const NO_PLANS = silent('discard plans');

/**
 * Statements that set the isolation level of a transaction. They have to come before all statements that read anything,
 * even `select set_config(…)`. PostgreSQL begins each transaction with the default again, so nothing is left behind.
 * `set local` would do the same, but writes a warning outside of a transaction block.
 */
const ISOLATE: Readonly<Record<Isolation, RunStep>> = {
  serializable: silent(`set transaction_isolation = 'serializable'`),
  'repeatable read': silent(`set transaction_isolation = 'repeatable read'`),
  'read committed': silent(`set transaction_isolation = 'read committed'`),
  'read uncommitted': silent(`set transaction_isolation = 'read uncommitted'`),
};
