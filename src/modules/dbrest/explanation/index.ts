import { userInfo } from 'node:os';
import type { Build, Deed, ExplainScope, Fact, ModuleExplanation, Telling } from '../../../contract/index.ts';
import type { Exchange } from '../../../http/index.ts';
import { openAuthenticator } from '../auth/index.ts';
import type { Identity } from '../auth/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { DbrestResources } from '../handler.ts';
import { tokenMetrics } from '../metrics.ts';
import { compileOperations, headerValues } from '../operation/index.ts';
import { faultOf, sendFault } from '../reply/index.ts';
import { resourceResolver } from '../resource.ts';
import type { Resource } from '../resource.ts';
import { Asked, SchemaUnread, unaskedDatabase } from './unasked-database.ts';
import { queryFacts } from './query-facts.ts';
import { statementFacts } from './statement-facts.ts';

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
