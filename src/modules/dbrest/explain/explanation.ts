import type {
  Build,
  ExplainedAction,
  ExplainScope,
  ExplainedFact,
  Explainer,
} from '../../../contract/index.ts';
import type { Exchange } from '../../../http/index.ts';
import { PieceBuffers } from '../../../bodies/index.ts';
import { explainCache } from '../../../cache/index.ts';
import { type Authenticator, compileCallers, type Identity, openAuthenticator } from '../auth/index.ts';
import { readItems } from '../batch/index.ts';
import { type Caching, compileCaching, DatabaseCaches } from '../caching/index.ts';
import { type DbrestConfig, type DbrestPass, identityOf, loginRoleOf } from '../directives/index.ts';
import type { RestDatabase } from '../database/index.ts';
import { tokenMetrics } from '../metrics.ts';
import { KeptPlans } from '../plan-cache/index.ts';
import type { DbrestResources } from '../location.ts';
import { compileSteps, stepsParts, type Steps } from '../pipeline.ts';
import {
  argsOf,
  batchPath,
  mcpPath,
  needsFeatures,
  isGrouping,
  parametersOf,
  readContent,
  receiveBody,
  type Request,
  type RequestHead,
  requestWith,
  type Resource,
} from '../request/index.ts';
import { explainWithSettings } from './explained-settings.ts';
import type { DbrestFault } from '../fault/index.ts';
import { faultOf, sendFault } from '../response/index.ts';
import { SchemaCache } from '../schema/index.ts';
import { estimateFor, type RunPlan, type Statements } from '../sql/index.ts';
import { compileStreamTest } from '../live/index.ts';
import { readSchema, withDatabase } from '../tools/index.ts';
import { doesOf } from './description.ts';
import { liveFacts } from './live-facts.ts';
import { maskedValues, type Masking } from './shown-statement.ts';

/** Longest time for an estimate. */
const PATIENCE_MS = 30_000;

/** Provides what a location needs to explain requests instead of serving them. No statement of them is executed. */
export async function provision(config: DbrestConfig, scope: ExplainScope): Promise<DbrestResources> {
  const { pass } = config;
  if (!pass) throw new Error('a location without "dbrest_pass" has no database');
  const authenticate = (rules: DbrestConfig): Authenticator =>
    openAuthenticator(rules.jwtKeys, {
      anonRole: rules.anonRole,
      rolePath: rules.jwtRolePath,
      audience: rules.jwtAudience,
      invalid: rules.jwtInvalid,
      loginRole: loginRoleOf(pass),
      metrics: tokenMetrics(scope.metrics),
    });
  const { live } = scope;
  const resources = {
    database: schemaOnlyDatabase(pass),
    authenticator: authenticate(config),
    caches: scope.caches,
    buffers: new PieceBuffers(),
  };
  return {
    ...resources,
    explain(build) {
      if (!config.databaseSettings) return explainRequest({ config, live, ...resources }, build);
      return explainWithSettings({
        file: config,
        schema: live ? resources.database.schema : undefined,
        explainerOf: async (effective) => {
          const authenticator = authenticate(effective);
          return explainRequest({ config: effective, live, ...resources, authenticator }, build);
        },
      });
    },
  };
}

/** A database that has a schema but runs no statements. */
function schemaOnlyDatabase(pass: DbrestPass): RestDatabase {
  const refuse = (): Promise<never> => Promise.reject(new Error('an explanation runs no statements'));
  return {
    schema: new SchemaCache(() => readSchema(pass)),
    plans: new KeptPlans(),
    costRefusals: { add: () => undefined },
    read: refuse,
    write: refuse,
    features: refuse,
    isListening: false,
    outage: { holds: () => false },
    caches: new DatabaseCaches({
      database: identityOf(pass),
      listener: { holdLease: () => undefined, isLeaseHeld: true, announce: () => undefined, announced: 0 },
      readRelatives: refuse,
    }),
  };
}

/** The context of explanations. */
interface ExplanationContext extends DbrestResources {
  readonly config: DbrestConfig;
  /** The schema may be read from the database. */
  readonly live: boolean;
}

/** Compiles the explanation of requests: it follows the steps of a request as far as they do not need the database. */
function explainRequest(explained: ExplanationContext, build: Build): Explainer {
  const { config, database, authenticator } = explained;
  const callers = compileCallers(authenticator, build);
  const steps = compileSteps(config, database, stepsParts(config, build));
  const batch = batchPath(build.location, config);
  const mcp = mcpPath(build.location, config);
  const streamOf = compileStreamTest(config, build.location);
  const caching = compileCaching(
    config,
    { ...explained, database: { caches: database.caches, schema: assumed(database) }, headOf: steps.headOf },
    build,
  );
  return async (x): Promise<ExplainedAction | undefined> => {
    let role = config.anonRole;
    let head: RequestHead | undefined;
    try {
      const identity = callers.of(x);
      role = identity.role;
      if (x.uri === mcp)
        return { does: 'serves tools of the Model Context Protocol', facts: whoFacts(identity, x) };
      if (x.uri === batch && x.method === 'POST') return await tellBatch(x, identity, config);
      const stream = streamOf(x);
      if (stream) return { does: STREAMS[stream], facts: whoFacts(identity, x), unknown: 'the events' };
      head = steps.headOf(x);
      const who = whoFacts(identity, x);
      if (head.kind === 'options') return { does: 'lists the allowed methods', facts: who };
      const cache = caching && (await tellCache(x, identity, caching));
      const facts = [...resourceFacts(head.resource), ...who, ...(cache?.facts ?? [])];
      const told = await statementsOf({ x, head, identity }, steps, explained);
      const does = cache?.isServed ? `uses the cache; otherwise ${doesOf(head)}` : doesOf(head);
      return told && { does, unknown: told.unknown, facts: [...facts, ...told.facts] };
    } catch (error) {
      const fault = faultOf(error, { authenticated: role !== config.anonRole });
      if (!fault) throw error;
      sendFault(x, fault, config.errorVerbosity);
      return head && role !== undefined ? refusalOf({ head, role, fault }, explained) : undefined;
    }
  };
}

const STREAMS = {
  notifications: 'streams notifications of the database',
  rows: 'streams rows, and changes of them',
} as const;

/** Describes the items of a batch; each can be explained as a request of its own. */
async function tellBatch(
  x: Exchange,
  identity: Identity,
  { batchMax }: DbrestConfig,
): Promise<ExplainedAction | undefined> {
  const received = await receiveBody(x);
  if (!received) return undefined;
  const items = await readItems(received, batchMax);
  const listed = items.map(({ method, rawPath, args }) => ({
    label: 'item',
    value: `${method} ${rawPath}${args === '' ? '' : `?${args}`}`,
  }));
  return {
    does: 'runs a batch of requests in one transaction',
    facts: [...whoFacts(identity, x), ...listed],
    unknown: 'the responses of the database',
  };
}

/** Returns why a request is refused before its statements are written, if the database may be asked. */
async function refusalOf(
  { head, role, fault }: { readonly head: RequestHead; readonly role: string; readonly fault: DbrestFault },
  { config, live }: ExplanationContext,
): Promise<ExplainedAction | undefined> {
  const { pass } = config;
  if (!live || !pass) return undefined;
  const asked = { schema: head.schema, name: head.resource.name };
  return { does: doesOf(head), facts: await liveFacts(pass, { role, config, asked, fault }) };
}

/** Stands in for an unknown schema: without media types of its own the key is that of most databases. */
function assumed({ schema }: RestDatabase): Parameters<typeof compileCaching>[1]['database']['schema'] {
  return {
    get known() {
      return schema.known ?? { mediaHandlers: [] };
    },
    current: () => schema.current(),
  };
}

/** Describes what the cache would do with a request. */
function tellCache(
  x: Exchange,
  identity: Identity,
  { policy, keyOf }: Caching,
): ReturnType<typeof explainCache> {
  const key = keyOf(x, identity);
  return explainCache(x, {
    policy,
    keyOf: () => key ?? '',
    leftOut: key === undefined ? 'for this request' : undefined,
    refusedBy: 'dbrest_cache_no_cache',
  });
}

interface ExplainedRequest {
  readonly x: Exchange;
  readonly head: RequestHead;
  readonly identity: Identity;
}

type SqlExplanation = Required<Pick<ExplainedAction, 'facts' | 'unknown'>>;

/** The statements of a request; the parsed query if they depend on something unknown. Throws a `DbrestFault`. */
async function statementsOf(
  { x, head, identity }: ExplainedRequest,
  { queryOf, planOf, workOf, statementsOf: write }: Steps,
  { live, database, config }: ExplanationContext,
): Promise<SqlExplanation | undefined> {
  const dependsOnServer = needsFeatures(head);
  // The query and the body are parsed nevertheless, to find syntax errors.
  const args = await argsOf(x);
  if (args === undefined) return undefined;
  const parsed = queryOf(x, head, { args, range: x.header('range') });
  const content = await readContent(x, parsed);
  if (!content) return undefined;
  const request = requestWith(parsed, content);
  const obstacle = dependsOnServer
    ? 'depends on what the server supports'
    : await schemaObstacle(live ? database.schema : undefined);
  if (obstacle !== undefined)
    return { facts: queryFacts(args, request), unknown: `the SQL, which ${obstacle}` };
  const plan = await planOf(request, identity.role);
  if (plan.kind === 'options') return undefined;
  const statements = write(x, identity, { plan, work: workOf(plan) });
  const { role } = identity;
  const asked = { schema: head.schema, name: head.resource.name };
  const cost = await costFacts(config, plan, statements);
  const facts = await liveFacts(config.pass as DbrestPass, { role, config, plan, asked, statements });
  return {
    facts: [
      ...statementFacts(statements, { identity, config, roleSettings: plan.roleSettings }),
      ...cost,
      ...facts,
    ],
    unknown: 'the response of the database',
  };
}

/** The cost of a request as the planner expects it. Nothing is executed for it. */
async function costFacts(
  { pass, maxCost }: DbrestConfig,
  plan: RunPlan,
  statements: Statements,
): Promise<readonly ExplainedFact[]> {
  const estimate = pass && estimateFor(plan, { ...statements, preRequest: undefined });
  if (!estimate) return [];
  const fact = (value: string): readonly ExplainedFact[] => [{ label: 'cost', value }];
  try {
    const cost = await withDatabase(pass, async (session) =>
      estimate.costIn(await session.run(estimate.steps, PATIENCE_MS)),
    );
    if (maxCost === undefined) return fact(`${cost}`);
    return fact(cost > maxCost ? `${cost}: refused, at most ${maxCost} is allowed` : `${cost} of ${maxCost}`);
  } catch (error) {
    return fact(`unknown: ${(error as Error).message}`);
  }
}

/** Returns why the schema is not available, or `undefined`. */
async function schemaObstacle(schema: SchemaCache | undefined): Promise<string | undefined> {
  if (!schema) return 'needs the schema: "--live" reads it';
  try {
    await schema.current();
    return undefined;
  } catch (error) {
    return `needs the schema, and that cannot be read: ${(error as Error).message}`;
  }
}

/** The query of a request as facts that need no schema. */
function queryFacts(args: string, request: Request): readonly ExplainedFact[] {
  const isCall = request.kind === 'call' && request.input.kind === 'texts';
  const given = isCall ? request.input.texts : undefined;
  return Array.from(parametersOf(args), ([key, value]) =>
    given?.has(key)
      ? { label: 'argument', value: `${key} = ${value}` }
      : { label: labelOf(key, value), value: textOf(key, value) },
  );
}

const CLAUSES: ReadonlySet<string> = new Set([
  'select',
  'order',
  'limit',
  'offset',
  'columns',
  'on_conflict',
]);

function labelOf(key: string, value: string): string {
  const last = key.slice(key.lastIndexOf('.') + 1);
  return isClause(last, value) ? last : 'filter';
}

function textOf(key: string, value: string): string {
  return !key.includes('.') && isClause(key, value) ? value : `${key} ${value}`;
}

function isClause(key: string, value: string): boolean {
  return CLAUSES.has(key) || isGrouping(key, value);
}

/** The statements in order, each followed by its parameters. Tokens and settings are masked. */
function statementFacts(
  { isolation, before, main, after }: Statements,
  masking: Masking,
): readonly ExplainedFact[] {
  const statements = [...before, main, ...after].flatMap(({ statement }) => [
    { label: 'sql', value: statement.text.trim() },
    ...maskedValues(statement, masking).map((value, index) => ({
      label: 'parameter',
      value: `$${index + 1} = ${value}`,
    })),
  ]);
  return isolation === undefined ? statements : [{ label: 'isolation', value: isolation }, ...statements];
}

function resourceFacts(resource: Resource): readonly ExplainedFact[] {
  return resource.kind === 'root' ? [] : [{ label: resource.kind, value: resource.name }];
}

function whoFacts({ role, jwt, rejected }: Identity, x: Exchange): readonly ExplainedFact[] {
  const given = x.header('authorization') !== undefined;
  const how =
    jwt !== ''
      ? 'of the token'
      : rejected
        ? 'anonymous: the token was refused'
        : given
          ? 'anonymous'
          : 'no token';
  return [{ label: 'role', value: `${role} (${how})` }];
}
