import { userInfo } from 'node:os';
import type { Build, Deed, ExplainScope, Fact, ModuleExplanation, Telling } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import { type Identity, openAuthenticator } from './auth/index.ts';
import type { DbrestConfig } from './config.ts';
import { catalogueSteps, type RestDatabase } from './database.ts';
import type { DbrestPass } from './dsn.ts';
import type { DbrestResources } from './handler.ts';
import { tokenMetrics } from './metrics.ts';
import { compileOperations, headerValues } from './operation/index.ts';
import { faultOf, sendFault } from './response/index.ts';
import { parametersOf, parseReadQuery } from './request/index.ts';
import { type Resource, resourceResolver } from './resource.ts';
import { CatalogueWriter, type Schema, SchemaCache, schemaOf } from './schema/index.ts';
import type { Session, Step } from './session/index.ts';
import type { BoundValue } from './sql/index.ts';
import { withDatabase } from './tools/index.ts';
import { inSlices } from './turn.ts';

/** What reading a catalogue may take. */
const PATIENCE_MS = 30_000;
const BEGIN: Step = { statement: { text: 'begin read only', values: [] }, silent: true };

/** Statements have come to where they would be sent. */
class Asked extends Error {
  readonly steps: readonly Step[];

  constructor(steps: readonly Step[]) {
    super('a database that is not to be asked was asked');
    this.steps = steps;
  }
}

/** The schema is not known, and with it which statements a request makes. */
class SchemaUnread extends Error {}

/** A database that answers nothing but what its schema is, and that only where it may be opened. */
function unaskedDatabase(pass: DbrestPass, live: boolean): RestDatabase {
  const schema = new SchemaCache(() => readSchema(pass, live));
  const ask = (steps: readonly Step[]): Promise<never> => Promise.reject(new Asked(steps));
  return {
    schema,
    read: ask,
    write: ask,
    facts: () => Promise.reject(new SchemaUnread('which depends on what the server supports')),
  };
}

async function readSchema(pass: DbrestPass, live: boolean): Promise<Schema> {
  if (!live) throw new SchemaUnread('which needs the schema: "--live" reads it');
  try {
    return await inSlices(schemaOf({ catalogue: await withDatabase(pass, readCatalogue), reads: 0 }));
  } catch (error) {
    throw new SchemaUnread(`which needs the schema, and that cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** In a transaction that can change nothing. */
async function readCatalogue(session: Session): Promise<SharedArrayBuffer> {
  const sink = new CatalogueWriter();
  await session.run([BEGIN, ...catalogueSteps(sink)], PATIENCE_MS);
  return sink.finish();
}

/** What the query of a request says as far as no schema is needed. Throws what a malformed one is answered with. */
function queryFacts({ method, args }: Exchange): readonly Fact[] {
  if (method === 'GET' || method === 'HEAD') parseReadQuery(args);
  return [...parametersOf(args)].map(([key, value]) => ({ label: labelOf(key), value: textOf(key, value) }));
}

const CLAUSES: ReadonlySet<string> = new Set([
  'select',
  'order',
  'limit',
  'offset',
  'columns',
  'on_conflict',
]);

function labelOf(key: string): string {
  const last = key.slice(key.lastIndexOf('.') + 1);
  return CLAUSES.has(last) ? last : 'filter';
}

function textOf(key: string, value: string): string {
  return CLAUSES.has(key) ? value : `${key} ${value}`;
}

const MASK = '***';
/** `"authorization":"Bearer …"` among the headers that the database is told. */
const LOGIN = /("(?:proxy-)?authorization":"\w+ )(?:[^"\\]|\\.)*/g;

/** Statements in their order, each with its parameters behind it. Whoever reads them learns no token. */
function statementFacts(steps: readonly Step[], { jwt }: Identity): readonly Fact[] {
  const masked = (text: string): string =>
    (jwt === '' ? text : text.replaceAll(jwt, MASK)).replace(LOGIN, `$1${MASK}`);
  return steps.flatMap(({ statement: { text, values } }) => [
    { label: 'sql', value: text.trim() },
    ...values.map((value, index) => ({
      label: 'parameter',
      value: `$${index + 1} = ${masked(valueText(value))}`,
    })),
  ]);
}

function valueText(value: BoundValue): string {
  if (value === null) return 'null';
  const bytes = typeof value === 'string' ? value : Buffer.concat([value].flat()).toString();
  return `'${bytes.replaceAll("'", "''")}'`;
}

/** Who asks, what is asked for, and the statements that would be run. */
export const explanation: ModuleExplanation<DbrestConfig, DbrestResources> = {
  provision,
  tell: (config, resources, build) => ({ content: tellRequest(config, resources, build) }),
};

/** Tokens are verified as ever; the schema is read where databases may be opened, and nothing else is asked. */
async function provision(config: DbrestConfig, scope: ExplainScope): Promise<DbrestResources> {
  const { pass } = config;
  if (!pass) throw new Error('a location without "dbrest_pass" has no database');
  const loginRole = pass.kind === 'server' ? pass.target.user : undefined;
  const authenticator = await openAuthenticator(config.jwtKeys, {
    anonRole: config.anonRole,
    rolePath: config.jwtRolePath,
    audience: config.jwtAudience,
    invalid: config.jwtInvalid,
    loginRole: loginRole ?? userInfo().username,
    metrics: tokenMetrics(scope.metrics),
  });
  return { database: unaskedDatabase(pass, scope.live), authenticator };
}

function tellRequest(
  config: DbrestConfig,
  { database, authenticator }: DbrestResources,
  { location }: Build,
): Telling {
  const resourceOf = resourceResolver(location, config.rpc);
  const operate = compileOperations(config, { database, location });
  return async (x): Promise<Deed | undefined> => {
    let role = config.anonRole;
    try {
      const identity = await authenticator.identify(headerValues(x, 'authorization'));
      role = identity.role;
      const resource = resourceOf(x.uri);
      if (x.method === 'OPTIONS')
        return { does: 'tells which methods there are', facts: whoFacts(identity, x) };
      return await deedOf(x, {
        resource,
        identity,
        run: () => operate(x, resource, { identity, watch: undefined }),
      });
    } catch (error) {
      const fault = faultOf(error, { authenticated: role !== config.anonRole });
      if (!fault) throw error;
      sendFault(x, fault, config.errorVerbosity);
      return undefined;
    }
  };
}

interface Asking {
  readonly resource: Resource;
  readonly identity: Identity;
  readonly run: () => Promise<void>;
}

/** The statements, or where they need the schema, what the request itself says. */
async function deedOf(x: Exchange, { resource, identity, run }: Asking): Promise<Deed | undefined> {
  const facts: readonly Fact[] = [...resourceFacts(resource), ...whoFacts(identity, x)];
  const does = doesOf(resource, x.method);
  try {
    await run();
    return undefined;
  } catch (error) {
    if (error instanceof Asked)
      return {
        does,
        facts: [...facts, ...statementFacts(error.steps, identity)],
        unknown: 'what the database answers',
      };
    if (error instanceof SchemaUnread)
      return { does, facts: [...facts, ...queryFacts(x)], unknown: `the SQL, ${error.message}` };
    throw error;
  }
}

function doesOf(resource: Resource, method: string): string {
  if (resource.kind === 'root') return 'describes the API of the database';
  return resource.kind === 'function'
    ? 'calls a function of the database'
    : (VERBS[method] ?? 'asks the database');
}

const VERBS: Readonly<Record<string, string>> = {
  GET: 'reads rows of the database',
  HEAD: 'reads rows of the database',
  POST: 'inserts rows into the database',
  PUT: 'puts a row into the database',
  PATCH: 'changes rows of the database',
  DELETE: 'deletes rows of the database',
};

function resourceFacts(resource: Resource): readonly Fact[] {
  return resource.kind === 'root' ? [] : [{ label: resource.kind, value: resource.name }];
}

function whoFacts({ role, jwt, rejected }: Identity, x: Exchange): readonly Fact[] {
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
