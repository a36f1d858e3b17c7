import type { Build, LocationFacts } from '../../contract/index.ts';
import {
  beginSpan,
  compilePhasesOf,
  type Exchange,
  requestId,
  type RequestPhases,
} from '../../http/index.ts';
import { isStatementError, type WireError } from '../../postgres/index.ts';
import type { Identity } from './auth/index.ts';
import { type Batches, type BatchSteps, compileBatches } from './batch/index.ts';
import {
  compileCostGuard,
  type CostGuard,
  type Estimation,
  genericPlan,
  type RestDatabase,
  hasOldPlan,
} from './database/index.ts';
import type { DbrestConfig } from './directives/index.ts';
import { DbrestFault, TOO_COSTLY } from './fault/index.ts';
import { notesOf, type RequestNotes } from './variables.ts';
import { compilePlan, type PlannedOptions, writtenTables } from './plan/index.ts';
import { PlanCache, type PlanningSteps, type PreparedPlan, type RequestShape } from './plan-cache/index.ts';
import {
  argsOf,
  compileHead,
  compileQuery,
  type Content,
  needsFeatures,
  type ParsedHead,
  readContent,
  requestWith,
} from './request/index.ts';
import {
  asPreferred,
  compileResponse,
  type OpenResponse,
  respondToOptions,
  type Stopwatch,
} from './response/index.ts';
import type { Schema } from './schema/index.ts';
import { type Results, runSteps } from './session/index.ts';
import {
  compileTransaction,
  type RunPlan,
  type SharedView,
  statementComment,
  type Statements,
  type Work,
  workOf,
} from './sql/index.ts';
import type { RunsOf, StatementRuns } from './statement-runs.ts';

/** The identity of a request and the stopwatch for `Server-Timing`, if it is enabled. */
export interface Caller {
  readonly identity: Identity;
  readonly stopwatch?: Stopwatch | undefined;
  /** Awaited before the plan runs. */
  readonly planned?: ((plan: RunPlan) => Promise<void>) | undefined;
  /** Present if other requests may get the same response. The database sees this request instead of the client's. */
  readonly shared?: SharedView | undefined;
}

/** A request before it is planned. */
interface UnplannedRequest {
  /** The raw query. */
  readonly args: string;
  readonly parsed: ParsedHead;
  readonly content: Content;
  /** Present if `parsed` has placeholders in place of literals. */
  readonly shape: RequestShape | undefined;
}

/** Serves a request of a caller. Rejects with errors that `faultOf` turns into a response. */
export type Serve = (x: Exchange, caller: Caller) => Promise<void>;

/** The database, and what counts the statements of a location in it. */
interface PipelineParts {
  readonly database: RestDatabase;
  /** Absent where no statements run. */
  readonly statementsAt?: ((location: string) => RunsOf) | undefined;
}

/** The steps after authentication. */
export interface Pipeline {
  readonly serve: Serve;
  readonly steps: Steps;
  readonly guard: CostGuard | undefined;
  readonly batches: Batches | undefined;
  readonly runsOf: RunsOf | undefined;
}

export function compilePipeline(
  config: DbrestConfig,
  { database, statementsAt }: PipelineParts,
  build: Build,
): Pipeline {
  const steps = compileSteps(config, database, stepsParts(config, build));
  const runsOf = statementsAt?.(build.location.path);
  const { askedBy, prepare } = compilePreparation(steps, database, runsOf);
  const responseOf = compileResponse(config, build);
  const guard = compileCostGuard(config, database);

  const phasesOf = compilePhasesOf(build);
  const commentOf = config.requestComment === 'comment' ? statementComment : undefined;
  const run = compileRun(config, database, { steps, prepare, responseOf, guard, phasesOf, commentOf });
  const serve = async (x: Exchange, caller: Caller): Promise<void> => {
    const asked = await askedBy(x, caller.identity.role);
    if (!asked) return;
    caller.stopwatch?.lap('parse');
    await retryOnSchemaChange(database, x, () => run(x, asked, caller));
  };
  const batches = compileBatches(config, build.location, {
    ...batchSteps(config, database, { askedBy, prepare }),
    commentOf,
    runsOf,
    statementsOf: steps.statementsOf,
    estimationOf: (plan, statements) => guard?.estimationOf(plan, statements),
    responseOf: (x, plan, statements) =>
      responseOf(x, plan, { statements, stopwatch: undefined, held: true, isStored: false }),
  });
  return { serve, steps, guard, batches, runsOf };
}

interface RunSteps extends Pick<Preparation, 'prepare'> {
  readonly steps: Steps;
  readonly responseOf: ReturnType<typeof compileResponse>;
  readonly guard: CostGuard | undefined;
  readonly phasesOf: (x: Exchange) => RequestPhases | undefined;
  readonly commentOf: typeof statementComment | undefined;
}

/** Compiles the steps from a parsed request to its response. */
function compileRun(
  config: DbrestConfig,
  database: RestDatabase,
  { steps, prepare, responseOf, guard, phasesOf, commentOf }: RunSteps,
): (x: Exchange, asked: UnplannedRequest, caller: Caller) => Promise<void> {
  return async (x, asked, caller) => {
    const { identity, stopwatch, planned, shared } = caller;
    const prepared = await prepare(x, asked, identity.role);
    stopwatch?.lap('plan');
    if ('kind' in prepared) return respondToOptions(x, prepared, { config, stopwatch });
    const { plan, runs } = prepared;
    await planned?.(plan);
    const statements = steps.statementsOf(x, identity, shared ? { ...prepared, shared } : prepared);
    const response = responseOf(x, plan, { statements, stopwatch, isStored: planned !== undefined, runs });
    const span = beginSpan(x, 'query', 'client')
      ?.set('db.system', 'postgresql')
      .set('db.operation.name', plan.kind === 'write' ? plan.write.kind : plan.kind);
    const results = await runPlan(database, plan, {
      x,
      phases: phasesOf(x),
      statements,
      comment: commentOf?.(x, span?.id),
      response,
      rules: rulesOf(config, statements),
      estimation: guard?.estimationOf(plan, statements),
      runs,
    }).catch((error: unknown) => {
      span?.end(true);
      throw asPreferred(error, plan.preferences);
    });
    span?.end();
    await response.end(results);
  };
}

/** The steps of batches that they share with other requests. */
function batchSteps(
  config: DbrestConfig,
  database: RestDatabase,
  { askedBy, prepare }: Preparation,
): Omit<BatchSteps, 'statementsOf' | 'responseOf' | 'estimationOf' | 'commentOf' | 'runsOf'> {
  return {
    database,
    async prepare(x, role) {
      const asked = await askedBy(x, role);
      const prepared = asked && (await prepare(x, asked, role));
      return prepared && 'kind' in prepared ? undefined : prepared;
    },
    rulesOf: (statements) => rulesOf(config, statements),
    retry: (x, again) => retryOnSchemaChange(database, x, again),
    purging: (plans, results) => purging(database, plans, results),
  };
}

interface Preparation {
  /** Parses a request and reads its body. Resolves to `undefined` as `readContent` does. */
  readonly askedBy: (x: Exchange, role: string) => Promise<UnplannedRequest | undefined>;
  /** Plans a request and writes its statements, or takes both from the plan cache. */
  readonly prepare: (
    x: Exchange,
    asked: UnplannedRequest,
    role: string,
  ) => Promise<PreparedPlan | PlannedOptions>;
}

export function compilePreparation(
  steps: Steps,
  database: Pick<RestDatabase, 'schema' | 'features' | 'plans'>,
  runsOf?: RunsOf,
): Preparation {
  const known = (): Schema | undefined => database.schema.known;
  const plans = new PlanCache(planningSteps(steps), { kept: database.plans, known, runsOf });
  const parse = async (x: Exchange, args: string): Promise<ParsedHead> => {
    const head = steps.headOf(x);
    const features = needsFeatures(head) ? await database.features() : undefined;
    return steps.queryOf(x, head, { args, range: x.header('range'), features });
  };
  return {
    async askedBy(x, role) {
      const received = argsOf(x);
      const args = received instanceof Promise ? await received : received;
      if (args === undefined) return undefined;
      const shape = plans.shapeOf(x, args, role);
      const kept = shape && plans.parsed(x, shape);
      const parsed = kept ?? (await parse(x, args));
      const content = await readContent(x, parsed);
      return content && { args, parsed, content, shape: kept && shape };
    },
    async prepare(x, { args, parsed, content, shape }, role) {
      const kept = shape && plans.prepare(shape, parsed, content);
      if (kept) return kept;
      const request = requestWith(shape ? await parse(x, args) : parsed, content);
      const plan = await steps.planOf(request, role);
      if (plan.kind === 'options') return plan;
      const work = steps.workOf(plan);
      return { plan, work, runs: runsOf?.(work.main.statement.text, role) };
    },
  };
}

/**
 * The steps from a request to its SQL, the same for reads, writes, calls and descriptions. None of them sends
 * a statement of the request to the database.
 */
export interface Steps extends ReturnType<typeof compilePlan> {
  /** Parses the path, the method and the headers. */
  readonly headOf: ReturnType<typeof compileHead>;
  /** Parses the query. The content is read and added afterwards, by `readContent` and `requestWith`. */
  readonly queryOf: ReturnType<typeof compileQuery>;
  /** Writes the statements of a plan. */
  readonly workOf: (plan: RunPlan) => Work;
  /** Adds the settings of the request and the end of the transaction. */
  readonly statementsOf: ReturnType<typeof compileTransaction>;
}

/** The location of requests, and their ids, if `dbrest_request_comment` makes them the `application_name`. */
interface StepsParts {
  readonly location: LocationFacts;
  readonly requestId?: ((x: Exchange) => string | undefined) | undefined;
}

export function stepsParts({ requestComment }: DbrestConfig, build: Build): StepsParts {
  return { location: build.location, requestId: requestComment === 'on' ? requestId : undefined };
}

export function compileSteps(
  config: DbrestConfig,
  { schema }: Pick<RestDatabase, 'schema'>,
  { location, requestId }: StepsParts,
): Steps {
  return {
    headOf: compileHead(config, location),
    queryOf: compileQuery(config),
    ...compilePlan(config, schema),
    workOf: (plan) => workOf(plan, config),
    statementsOf: compileTransaction(config, requestId),
  };
}

/** The steps that the plan cache runs for the first request of a shape. */
function planningSteps({ headOf, queryOf, planIn, workOf: write }: Steps): PlanningSteps {
  return {
    parse(x, args) {
      const head = headOf(x);
      if (head.kind === 'describe' || head.kind === 'options') throw new Error(`${head.kind} has no rows`);
      if (needsFeatures(head)) throw new Error('the plan depends on the server');
      return queryOf(x, head, { args, range: x.header('range') });
    },
    prepare(parsed, content, { role, schema }) {
      const plan = planIn(schema, requestWith(parsed, content), role);
      if (plan.kind === 'options') throw new Error('OPTIONS runs no statements');
      return { plan, work: write(plan) };
    },
  };
}

interface PreparedRun {
  readonly x: Exchange;
  readonly phases: RequestPhases | undefined;
  readonly statements: Statements;
  readonly comment: string | undefined;
  readonly response: OpenResponse;
  readonly rules: DbrestConfig;
  readonly estimation: Estimation | undefined;
  readonly runs: StatementRuns | undefined;
}

/** Runs a plan. Responses that a write may have changed are removed from the caches before its own is sent. */
function runPlan(database: RestDatabase, plan: RunPlan, prepared: PreparedRun): Promise<Results> {
  if (plan.kind !== 'write' || !database.caches.isUsed) return runStatements(database, prepared);
  return purging(database, [plan], () => runStatements(database, prepared));
}

/** Runs statements. Responses that their plans may have changed leave the caches before the promise resolves. */
async function purging(
  { caches }: Pick<RestDatabase, 'caches'>,
  plans: readonly RunPlan[],
  run: () => Promise<Results>,
): Promise<Results> {
  const tables = new Set(plans.flatMap((plan) => (plan.kind === 'write' ? writtenTables(plan.write) : [])));
  if (tables.size === 0 || !caches.isUsed) return run();
  let isUndone = false;
  try {
    return await run();
  } catch (error) {
    isUndone = isRefusal(error);
    throw error;
  } finally {
    // A write that failed may have been committed nevertheless, if its connection was lost.
    if (!isUndone) await Promise.all(Array.from(tables, (table) => caches.wrote(table)));
  }
}

/** True if PostgreSQL has refused a statement, or the request was too costly to run. Then nothing of it has happened. */
function isRefusal(error: unknown): boolean {
  if (error instanceof DbrestFault) return error.code === TOO_COSTLY;
  return isStatementError(error);
}

function runStatements(database: RestDatabase, prepared: PreparedRun): Promise<Results> {
  const timed = { notes: notesOf(prepared.x), phases: prepared.phases };
  if (!timed.notes && !timed.phases) return sendStatements(database, prepared);
  return timeStatements(database, prepared, timed);
}

/** What takes the times of the statements of a request. */
interface Timed {
  readonly notes: RequestNotes | undefined;
  readonly phases: RequestPhases | undefined;
}

async function timeStatements(
  database: RestDatabase,
  prepared: PreparedRun,
  { notes, phases }: Timed,
): Promise<Results> {
  const startedMs = performance.now();
  let waitMs = 0;
  const waited = phases && ((ms: number): void => void (waitMs += ms));
  try {
    return await sendStatements(database, prepared, waited);
  } finally {
    const ms = performance.now() - startedMs;
    if (notes) notes.databaseMs = (notes.databaseMs ?? 0) + ms;
    if (phases) keepStatement(phases, { database, prepared, waitMs, ms: ms - waitMs });
  }
}

interface RunStatement {
  readonly database: RestDatabase;
  readonly prepared: PreparedRun;
  readonly waitMs: number;
  /** The time after the wait for a session. */
  readonly ms: number;
}

/** Tells the slow log of a statement. */
function keepStatement(
  phases: RequestPhases,
  { database, prepared: { statements, rules }, waitMs, ms }: RunStatement,
): void {
  const { before, settingsAt, main } = statements;
  const { text } = main.statement;
  phases.add('wait', waitMs);
  phases.add('query', ms);
  const role = before[settingsAt]?.statement.values[0];
  const plan = phases.explains?.(ms, text) ? genericPlan(database, statements, rules) : undefined;
  phases.keep({ kind: 'query', ms, text, role: typeof role === 'string' ? role : '', plan });
}

function sendStatements(
  database: RestDatabase,
  { x, statements, comment, response, rules, estimation, runs }: PreparedRun,
  waited?: (ms: number) => void,
): Promise<Results> {
  const { repeatable, isolation, leaves, shares, timeZone } = statements;
  const { sink, verdict } = response;
  const steps = runSteps(statements, sink, comment);
  const timeZones = timeZone === undefined ? undefined : [timeZone];
  const order = { client: x, rules, isolation, leaves, shares, timeZones, estimation, waited, runs };
  return repeatable ? database.read(steps, order) : database.write(steps, { ...order, verdict });
}

/** Replaces a `statement_timeout` of 0 (no limit). */
const LONGEST_MS = 86_400_000;

function rulesOf(config: DbrestConfig, { timeoutMs }: Statements): DbrestConfig {
  if (timeoutMs === undefined) return config;
  return { ...config, timeoutMs: timeoutMs === 0 ? LONGEST_MS : Math.min(timeoutMs, LONGEST_MS) };
}

/** A request is retried at most this often when the schema keeps changing. */
const MOST_REPEATS = 3;
/**
 * SQLSTATEs for an unknown column, table or schema. All names in a statement come from the schema, so an error that has
 * a position means that the schema has changed. Without a position a value of the request caused it, such as a cast to
 * `regclass`.
 */
const MISSING_NAME: ReadonlySet<string> = new Set(['42703', '42P01', '3F000']);
/** SQLSTATEs that a changed schema can cause, but also a client, for instance one that compares text with numbers. */
const MISSING_FORM: ReadonlySet<string> = new Set(['42883', '42804', '42P10', '428C9']);

/**
 * Runs a request, and retries it when the server rejected a statement because the schema has changed. This is safe: all
 * statements of a request are one transaction, and it failed before the main statement ran.
 */
function retryOnSchemaChange(
  database: RestDatabase,
  x: Exchange,
  operate: () => Promise<void>,
): Promise<void> {
  const attempt = (repeats: number): Promise<void> => {
    const seen = database.schema.known;
    return operate().catch(async (error: unknown) => {
      const isOver = repeats === MOST_REPEATS || x.done || x.aborted;
      if (isOver || !(await isOutdated(database, seen, error as WireError))) throw error;
      return attempt(repeats + 1);
    });
  };
  return attempt(0);
}

/** Returns whether an error shows that the schema has changed. Errors raised inside a function or a trigger do not. */
async function isOutdated(
  { schema }: RestDatabase,
  seen: Schema | undefined,
  error: WireError,
): Promise<boolean> {
  const { code = '', severity, where, position } = error;
  // "cached plan must not change result type" may come after a function has run.
  if (severity === undefined || where !== undefined || hasOldPlan(error)) return false;
  const isGone = MISSING_NAME.has(code) && position !== undefined;
  if (!isGone && !MISSING_FORM.has(code)) return false;
  if (!seen || schema.known !== seen) return schema.known !== undefined;
  return (await (isGone ? schema.successorOf(seen) : schema.newerThan(seen))) !== undefined;
}
