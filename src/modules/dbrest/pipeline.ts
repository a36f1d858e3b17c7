import type { Build, LocationFacts, LocationParts, Explainer } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import { type Authenticator, authorizationOf, type Identity } from './auth/index.ts';
import type { DbrestConfig } from './directives.ts';
import { compileCors } from './cors.ts';
import type { RestDatabase } from './database.ts';
import { bodyTooLarge, type DbrestFault } from './fault/index.ts';
import { compilePlan } from './plan/index.ts';
import { compileHead, compileRequest, needsFeatures, type Request } from './request/index.ts';
import {
  compileResponse,
  faultOf,
  type OpenResponse,
  respondToOptions,
  sendFault,
  Stopwatch,
} from './response/index.ts';
import type { Schema } from './schema/index.ts';
import type { Results, WireError } from './session/index.ts';
import { compileStatements, type Statements } from './sql/index.ts';

/** What a location works with. */
export interface DbrestResources {
  readonly database: RestDatabase;
  readonly authenticator: Authenticator;
  /** Only where requests are explained instead of served. */
  readonly explain?: (build: Build) => Explainer;
}

/** `dbrest_pass`: who asks → what is asked → plan → statements → response; whatever goes wrong on the way becomes one. */
export function compileDbrest(
  config: DbrestConfig,
  { database, authenticator }: DbrestResources,
  build: Build,
): LocationParts {
  const cors = compileCors(config.corsOrigins);
  const serve = compilePipeline(config, database, build.location);
  build.needAllHeaders();

  const content = async (x: Exchange): Promise<void> => {
    let role = config.anonRole;
    try {
      if (x.method === 'OPTIONS' && cors.preflight(x)) return;
      const watch = config.serverTiming ? new Stopwatch() : undefined;
      const known = authenticator.identify(authorizationOf(x));
      const identity = known instanceof Promise ? await known : known;
      role = identity.role;
      watch?.lap('jwt');
      await serve(x, { identity, watch });
    } catch (error) {
      respondToError(x, error, { config, build, authenticated: role !== config.anonRole });
    }
  };
  const tooLarge = (x: Exchange): void => sendFault(x, bodyTooLarge(), config.errorVerbosity);
  return { content, tooLarge, filter: cors.filter, slashRedirect: true };
}

/** Who sent a request, and what measures it. */
interface Caller {
  readonly identity: Identity;
  readonly watch: Stopwatch | undefined;
}

/** Between who asks and the response. Rejects with what becomes a fault. */
function compilePipeline(
  config: DbrestConfig,
  database: RestDatabase,
  location: LocationFacts,
): (x: Exchange, caller: Caller) => Promise<void> {
  const { headOf, requestOf, planOf, statementsOf } = compileSteps(config, database, location);
  const responseOf = compileResponse(config, location);

  const serve = async (x: Exchange, request: Request, { identity, watch }: Caller): Promise<void> => {
    const planned = planOf(request, identity.role);
    const plan = planned instanceof Promise ? await planned : planned;
    watch?.lap('plan');
    if (plan.kind === 'options') return respondToOptions(x, plan, config);
    const statements = statementsOf(x, plan, identity);
    const response = responseOf(x, plan, { config, statements, watch });
    const results = await run(database, { x, statements, response, rules: rulesOf(config, statements) });
    await response.end(results);
  };

  return async (x, caller) => {
    const head = headOf(x);
    const features = needsFeatures(head) ? await database.features() : undefined;
    const read = requestOf(x, head, features);
    const request = read instanceof Promise ? await read : read;
    if (!request) return;
    caller.watch?.lap('parse');
    await retryOnSchemaChange(database, x, () => serve(x, request, caller));
  };
}

/**
 * The steps from what a client sends to what the database is sent, for reads, writes, calls and descriptions alike. Each
 * makes one plain value of the one before it; nothing of them is done to the database.
 */
export interface Steps {
  /** What path, method and headers ask for. */
  readonly headOf: ReturnType<typeof compileHead>;
  /** The rest of it: query and body. */
  readonly requestOf: ReturnType<typeof compileRequest>;
  /** Every name found in the schema, and the form of the response chosen. */
  readonly planOf: ReturnType<typeof compilePlan>;
  /** In one transaction, behind the settings of the request. */
  readonly statementsOf: ReturnType<typeof compileStatements>;
}

export function compileSteps(
  config: DbrestConfig,
  { schema }: Pick<RestDatabase, 'schema'>,
  location: LocationFacts,
): Steps {
  return {
    headOf: compileHead(config, location),
    requestOf: compileRequest(config),
    planOf: compilePlan(config, schema),
    statementsOf: compileStatements(config),
  };
}

interface PreparedRun {
  readonly x: Exchange;
  readonly statements: Statements;
  readonly response: OpenResponse;
  readonly rules: DbrestConfig;
}

function run(database: RestDatabase, { x, statements, response, rules }: PreparedRun): Promise<Results> {
  const { before, main, after, repeatable, leaves } = statements;
  const { sink, verdict } = response;
  const steps = [...before, sink ? { ...main, sink } : main, ...after];
  return repeatable
    ? database.read(steps, { reader: x, rules, leaves })
    : database.write(steps, { writer: x, rules, verdict });
}

/** A `statement_timeout` of none: then only the server and the client end a function. */
const LONGEST_MS = 86_400_000;

function rulesOf(config: DbrestConfig, { timeoutMs }: Statements): DbrestConfig {
  if (timeoutMs === undefined) return config;
  return { ...config, timeoutMs: timeoutMs === 0 ? LONGEST_MS : Math.min(timeoutMs, LONGEST_MS) };
}

/** A schema that changes faster than that is not run after. */
const MOST_REPEATS = 3;
/**
 * No such column, table or schema. Every name in a statement is one of the schema that it was made from: where the server
 * points at one, that has changed. Without a position the value of a request is to blame, as a cast to `regclass` is.
 */
const MISSING_NAME: ReadonlySet<string> = new Set(['42703', '42P01', '3F000']);
/** So does a client fail who compares text with numbers. */
const MISSING_FORM: ReadonlySet<string> = new Set(['42883', '42804', '42P10', '428C9']);

/**
 * Runs a request; once more when the server refused its statement because the schema has changed since it was read. Nothing
 * of the request was done then: a batch is one transaction, and it failed before its main statement ran.
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

/** What comes from within a function or a trigger says nothing of the statement that called it. */
async function isOutdated(
  { schema }: RestDatabase,
  seen: Schema | undefined,
  { code = '', severity, where, position }: WireError,
): Promise<boolean> {
  if (severity === undefined || where !== undefined) return false;
  const isGone = MISSING_NAME.has(code) && position !== undefined;
  if (!isGone && !MISSING_FORM.has(code)) return false;
  if (!seen || schema.known !== seen) return schema.known !== undefined;
  return (await (isGone ? schema.successorOf(seen) : schema.newerThan(seen))) !== undefined;
}

function respondToError(
  x: Exchange,
  error: unknown,
  { config, build, authenticated }: { config: DbrestConfig; build: Build; authenticated: boolean },
): void {
  // Cancelled for a client that left: nobody to respond to, nothing wrong.
  if (x.aborted) return;
  const fault = faultOf(error, { authenticated });
  if (!fault) return;
  if (fault.status >= 500 || x.done || fault.logged !== undefined) logFault(x, fault, build);
  // The head is gone already: only a body cut short can tell that not all of it came.
  if (x.done) x.abort();
  else sendFault(x, fault, config.errorVerbosity);
}

function logFault(x: Exchange, { code, details, message, logged }: DbrestFault, { log }: Build): void {
  const more = logged ?? (typeof details === 'object' ? details && JSON.stringify(details) : details);
  const text = `dbrest: ${code} ${message}${more === null ? '' : ` (${more})`}`.replace(/\s+/g, ' ');
  log.write('error', text, {
    client: x.remoteAddress,
    request: `${x.method} ${x.request.requestUri}`,
    host: x.request.host,
  });
}
