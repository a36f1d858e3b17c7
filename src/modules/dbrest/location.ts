import type { Build, Explainer, LocationFacts, LocationParts } from '../../contract/index.ts';
import type { Caches } from '../../cache/index.ts';
import {
  compilePhasesOf,
  type Exchange,
  type HeaderFilter,
  noteSqlstate,
  type RequestPhases,
} from '../../http/index.ts';
import type { PieceBuffers } from '../../bodies/index.ts';
import { type Authenticator, type Callers, compileCallers, isRejection, rejectionOf } from './auth/index.ts';
import { compileCaching } from './caching/index.ts';
import {
  compileCors,
  faultOf,
  isServerError as isFromServer,
  sendFault,
  Stopwatch,
} from './response/index.ts';
import type { RestDatabase } from './database/index.ts';
import type { DbrestConfig } from './directives/index.ts';
import { bodyTooLarge, DbrestFault, refusedByGateway } from './fault/index.ts';
import { compileMcp, type McpParts } from './mcp/index.ts';
import { compileNotes, notesOf, relationOf } from './variables.ts';
import { type Caller, compilePipeline, type Pipeline, type Serve, type Steps } from './pipeline.ts';
import { bodyLimitOf } from './request/index.ts';
import { compileStreams, type StreamResources } from './live/index.ts';
import type { RunsOf } from './statement-runs.ts';

/** The resources of a location. */
export interface DbrestResources {
  readonly database: RestDatabase;
  readonly authenticator: Authenticator;
  readonly caches: Caches;
  /** For sending stored responses. */
  readonly buffers: PieceBuffers;
  /** Offers trials of requests on a location; absent if trials are not served. */
  readonly offerTrials?: (
    location: LocationFacts,
    config: () => DbrestConfig | Promise<DbrestConfig>,
  ) => void;
  /** Present where clients can follow events. */
  readonly streams?: StreamResources | undefined;
  /** Returns what counts the statements of a location; absent where none run. */
  readonly statementsAt?: (location: string) => RunsOf;
  /** Present only where requests are explained instead of served. */
  readonly explain?: (build: Build) => Explainer;
}

/** `dbrest_pass`: authenticates, parses, plans and runs a request, then responds. Every error becomes a response. */
export function compileDbrest(config: DbrestConfig, resources: DbrestResources, build: Build): LocationParts {
  const { authenticator, offerTrials } = resources;
  const { outage } = resources.database;
  offerTrials?.(build.location, () => config);
  const callers = compileCallers(authenticator, build);
  const cors = compileCors(config.corsOrigins);
  const pipeline = compilePipeline(config, resources, build);
  const { headOf, methodsOf } = pipeline.steps;
  const allowed: MethodsOf = async (x, role) => methodsOf(headOf(x), role);
  const noting = compileNoting(build, callers, headOf);
  const serve = compileServing(config, { ...resources, callers, pipeline }, build);
  build.needAllHeaders();
  const content = async (x: Exchange): Promise<void> => {
    try {
      const waiting = callers.ready?.(x);
      if (waiting) await waiting;
      // After an internal redirect, the phases before this one were those of another location.
      if (noting && !notesOf(x)) await noting(x);
      if (x.method !== 'OPTIONS' || !cors.preflight(x)) await serve(x);
      else await respondToPreflight(x, callers, allowed);
    } catch (error) {
      if (error instanceof DbrestFault && isRejection(error)) x.writeLog(lineOf(rejectionOf(error)), 'info');
      respondToError(x, error, { config, outage, authenticated: false });
    }
  };
  const tooLarge = (x: Exchange): void => sendFault(x, bodyTooLarge(bodyLimitOf(x)), config.errorVerbosity);
  const ownErrors = (x: Exchange): void => {
    const fault = refusedByGateway(x.errorStatus);
    x.errorStatus = 0;
    sendFault(x, fault, config.errorVerbosity);
  };
  const filter = compileFilter(config, cors.filter);
  return { ...(noting && { rewrite: [noting] }), content, tooLarge, ownErrors, filter, slashRedirect: true };
}

interface ServingParts extends Omit<DbrestResources, 'authenticator' | 'offerTrials' | 'explain'> {
  readonly callers: Callers;
  readonly pipeline: Pipeline;
}

/** Serves requests from the cache or the database. Rejects with errors that come before the identity is known. */
function compileServing(
  config: DbrestConfig,
  parts: ServingParts,
  build: Build,
): (x: Exchange) => Promise<void> {
  const { database, callers, caches, buffers, streams, pipeline } = parts;
  const { headOf } = pipeline.steps;
  const caching = compileCaching(config, { caches, buffers, database, headOf }, build);
  const respond = compileRespond({ config, outage: database.outage }, pipeline);
  const serverOf = compileServers(config, { database, streams, pipeline, respond }, build);
  const phasesOf = compilePhasesOf(build);
  return async (x) => {
    const phases = phasesOf(x);
    const stopwatch = config.serverTiming || phases ? new Stopwatch(config.serverTiming, phases) : undefined;
    const identity = callers.of(x);
    stopwatch?.lap('jwt');
    if (identity.rejection !== undefined) x.writeLog(lineOf(identity.rejection), 'info');
    const by = serverOf?.(x);
    if (by) return respond(x, { identity, stopwatch }, by);
    if (!caching) return respond(x, { identity, stopwatch });
    await caching.serve(x, identity, (asked, planned, shown = { identity }) =>
      respond(asked, { ...shown, planned, stopwatch: planned ? unshown(phases) : stopwatch }),
    );
  };
}

/** A stored response does not say how long it took to make. */
function unshown(phases: RequestPhases | undefined): Stopwatch | undefined {
  return phases && new Stopwatch(false, phases);
}

/** Compiles the step that finds role and relation before limits by them are checked; `undefined` if not needed. */
function compileNoting(
  build: Build,
  callers: Callers,
  headOf: Steps['headOf'],
): ((x: Exchange) => Promise<void>) | undefined {
  const takeNotes = compileNotes(build);
  if (!takeNotes) return undefined;
  return async (x) => {
    const notes = takeNotes(x);
    try {
      notes.relation = relationOf(headOf(x));
      const waiting = callers.ready?.(x);
      if (waiting) await waiting;
      notes.role = callers.of(x).role;
    } catch (error) {
      // The fault is reported where the request is served.
      faultOf(error, { authenticated: false });
    }
  };
}

/** The methods that the resource of a request supports. */
type MethodsOf = (x: Exchange, role: string) => Promise<readonly string[]>;

/** Serves a request; every error becomes a response. */
type Respond = (x: Exchange, caller: Caller, by?: Serve) => Promise<void>;

function compileRespond(
  { config, outage }: Pick<ErrorParts, 'config' | 'outage'>,
  { serve, steps }: Pipeline,
): Respond {
  const { headOf, methodsOf } = steps;
  return async (x, caller, by = serve) => {
    try {
      await by(x, caller);
    } catch (error) {
      if (isWriteInRead(error)) await tellMethods(x, () => methodsOf(headOf(x), caller.identity.role));
      respondToError(x, error, { config, outage, authenticated: caller.identity.role !== config.anonRole });
    }
  };
}

/** Returns whether a request that only reads would have written: 25006, which is 405. */
function isWriteInRead(error: unknown): boolean {
  return isFromServer(error) && error.code === '25006';
}

/** A 405 names the methods that the resource has (RFC 9110, 15.5.6). */
async function tellMethods(x: Exchange, methods: () => Promise<readonly string[]>): Promise<void> {
  try {
    x.response.setHeader('Allow', (await methods()).join(', '));
  } catch (error) {
    if (!faultOf(error, { authenticated: false })) return;
  }
}

interface ServerParts extends Pick<DbrestResources, 'database' | 'streams'> {
  readonly pipeline: Pipeline;
  readonly respond: Respond;
}

/** Compiles the serving of requests that are not for rows: tools, batches, streams; `undefined` without any of them. */
function compileServers(
  config: DbrestConfig,
  { database, streams: resources, pipeline, respond }: ServerParts,
  build: Build,
): ((x: Exchange) => Serve | undefined) | undefined {
  const { steps, guard, batches, runsOf } = pipeline;
  const mcp = compileMcp(config, { ...mcpParts(database, build), respond });
  const followed = { ...steps, estimationOf: guard?.estimationOf, runsOf };
  const streams = compileStreams(config, { streams: resources, database, steps: followed }, build);
  if (!mcp && !batches && !streams) return undefined;
  return (x) => {
    if (mcp?.isMcp(x.uri)) return mcp.serve;
    if (batches?.isBatch(x.uri)) return batches.serve;
    return streams?.wants(x) ? streams.serve : undefined;
  };
}

/** Compiles the filter of every response of the location, errors and those from the cache included. */
function compileFilter({ traceHeader }: DbrestConfig, cors: HeaderFilter): HeaderFilter {
  if (traceHeader === undefined) return cors;
  const name = traceHeader.toLowerCase();
  return (x) => {
    cors(x);
    const value = x.header(name);
    if (value !== undefined && x.response.header(name) === undefined)
      x.response.setHeader(traceHeader, value);
  };
}

/** A preflight request has no token, so it gets the methods that the anonymous role may use. It is always granted. */
async function respondToPreflight(x: Exchange, callers: Callers, methodsOf: MethodsOf): Promise<void> {
  try {
    const { role } = callers.stranger();
    x.response.setHeader('Allow', (await methodsOf(x, role)).join(','));
  } catch (error) {
    // The request that follows gets the fault.
    if (!faultOf(error, { authenticated: false })) return;
  }
  x.send(200, '', '');
}

function mcpParts({ schema }: RestDatabase, { location, serverNames }: Build): Omit<McpParts, 'respond'> {
  return {
    location,
    knowsHost: (host) => serverNames.some((name) => name.kind === 'exact' && name.name === host),
    schema: () => schema.current(),
  };
}

interface ErrorParts extends Pick<RestDatabase, 'outage'> {
  readonly config: DbrestConfig;
  readonly authenticated: boolean;
}

/** Responds to an error, unless the client has gone. Rethrows defects of gw. */
export function respondToError(
  x: Exchange,
  error: unknown,
  { config, outage, authenticated }: ErrorParts,
): void {
  // The client has closed the connection.
  if (x.aborted) return;
  const fault = faultOf(error, { authenticated });
  if (!fault) return;
  if (isFromServer(error)) noteSqlstate(x, fault.code);
  if (fault.isWished) x.writeLog(lineOf(`${fault.code} ${fault.message}`), 'info');
  else if (fault.status >= 500 || x.done || fault.logged !== undefined)
    logFault(x, fault, outage.holds(fault) ? 'info' : 'error');
  // Details may have values of rows, which are for the client alone.
  else if (isFromServer(error)) x.writeLog(lineOf(`${fault.code} ${fault.message}`), 'info');
  // The head has been sent, so only a truncated body can show that the response is incomplete.
  if (x.done) x.abort();
  else sendFault(x, fault, config.errorVerbosity);
}

function logFault(
  x: Exchange,
  { code, details, message, logged }: DbrestFault,
  level: 'info' | 'error',
): void {
  const more = logged ?? (typeof details === 'object' ? details && JSON.stringify(details) : details);
  x.writeLog(lineOf(`${code} ${message}${more === null ? '' : ` (${more})`}`), level);
}

/** Longer messages repeat what a client sent. */
const LONGEST_LINE = 2_000;

function lineOf(text: string): string {
  return `dbrest: ${text.replace(/\s+/g, ' ').slice(0, LONGEST_LINE)}`;
}
