import type { Build } from '../../contract/index.ts';
import type { Exchange, Handler } from '../../http/index.ts';
import type { Authenticator, Identity } from './auth/index.ts';
import type { DbrestConfig } from './config.ts';
import type { Database } from './database.ts';
import type { DbrestFault } from './fault/index.ts';
import { methodNotAllowed } from './fault/index.ts';
import type { ReadPlan, ReadTarget } from './plan/index.ts';
import { planRead } from './plan/index.ts';
import { faultOf, sendFault, sendRows } from './reply/index.ts';
import type { ReadRequest } from './request/index.ts';
import { chooseSchema, negotiateJson, parseReadQuery, refuseUnserved } from './request/index.ts';
import { exchangeSettings, headerValues } from './request-settings.ts';
import type { RequestSettings } from './sql/index.ts';
import { readSql, searchPath, settingsSql } from './sql/index.ts';
import { tableResolver } from './target.ts';

/** What a location works with. */
export interface DbrestResources {
  readonly database: Database;
  readonly authenticator: Authenticator;
}

/** `dbrest_pass`: request → plan → SQL → reply, each step by the folder of its name. */
export function compileDbrest(
  config: DbrestConfig,
  { database, authenticator }: DbrestResources,
  build: Build,
): Handler {
  const table = tableResolver(build.location);
  const settings = settingsFor(config);
  build.needAllHeaders();
  build.needPeer();

  const serve = async (x: Exchange, identity: Identity): Promise<void> => {
    if (x.method !== 'GET' && x.method !== 'HEAD') throw methodNotAllowed(x.method, 'GET, HEAD');
    const schema = chooseSchema(x.header('accept-profile'), config.schemas);
    const name = table(x.uri);
    negotiateJson(x.header('accept'));
    refuseUnserved({ prefer: x.header('prefer'), range: x.header('range') });
    const before = settings(x, schema, identity);
    const target = { schema, table: name, role: before.role };
    const plan = bounded(await planned(parseReadQuery(x.args), target, database), config.maxRows);
    const [json, rows] = await database.read([settingsSql(before), readSql(plan)], x, config);
    const profile = config.schemas.length > 1 ? schema : undefined;
    sendRows(x, { json: json ?? '', rows: Number(rows), offset: plan.offset, profile });
  };

  return async (x) => {
    let role = config.anonRole;
    try {
      const known = authenticator.identify(headerValues(x, 'authorization'));
      const identity = known instanceof Promise ? await known : known;
      role = identity.role;
      await serve(x, identity);
    } catch (error) {
      // Cancelled for a client that left: nobody to answer, nothing wrong.
      if (x.aborted) return;
      const fault = faultOf(error, { authenticated: role !== config.anonRole });
      if (!fault) return;
      if (fault.status >= 500) logFault(x, fault, build);
      sendFault(x, fault);
    }
  };
}

/** Everything of the settings that the config alone decides is decided here. */
function settingsFor({ schemas, extraSearchPath, timeoutMs }: DbrestConfig) {
  const paths = new Map(schemas.map((name) => [name, searchPath([...new Set([name, ...extraSearchPath])])]));
  return (x: Exchange, schema: string, identity: Identity): RequestSettings => {
    const { role, jwt, claims } = identity;
    const path = paths.get(schema) as string;
    return {
      role,
      searchPath: path,
      readOnly: true,
      timeoutMs,
      jwt,
      claims,
      ...exchangeSettings(x, identity),
    };
  };
}

/** Plans against the schema as known, and once more against a fresh one when a name is unknown. */
async function planned(
  request: ReadRequest,
  target: ReadTarget,
  { schema: cache }: Database,
): Promise<ReadPlan> {
  const current = cache.current();
  const known = current instanceof Promise ? await current : current;
  try {
    return planRead(request, target, known);
  } catch (error) {
    const fresh = await cache.newerThan(known);
    if (!fresh) throw error;
    return planRead(request, target, fresh);
  }
}

function bounded(plan: ReadPlan, maxRows: number | undefined): ReadPlan {
  return maxRows === undefined ? plan : { ...plan, limit: Math.min(plan.limit ?? maxRows, maxRows) };
}

function logFault(x: Exchange, { code, details, message }: DbrestFault, { log }: Build): void {
  const text = `dbrest: ${code} ${message}${details === null ? '' : ` (${details})`}`.replace(/\s+/g, ' ');
  log.write('error', text, { client: x.remoteAddress, request: `${x.method} ${x.requestUri}`, host: x.host });
}
