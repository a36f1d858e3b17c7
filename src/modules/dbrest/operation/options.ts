import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { RestDatabase } from '../database.ts';
import { noFunction, noTable } from '../fault/index.ts';
import { chooseSchema } from '../headers/index.ts';
import type { Resource } from '../resource.ts';
import { mayUse, type StoredFunction, type Table } from '../schema/index.ts';
import { withSchema } from './with-schema.ts';

/**
 * OPTIONS: the methods that a resource has by its nature. What the role has no privilege on is not there: no answer differs
 * from that for a name which nobody has. Throws PGRST106, PGRST202 and PGRST205.
 */
export function compileOptions(
  config: DbrestConfig,
  database: RestDatabase,
): (x: Exchange, resource: Resource, role: string) => Promise<void> {
  return async (x, resource, role) => {
    const profile = x.header('content-profile') ?? x.header('accept-profile');
    const schema = chooseSchema(profile, config.schemas);
    const allowed = await allowedMethods(resource, { schema, role }, database);
    if (config.schemas.length > 1) x.setHeader('Content-Profile', schema);
    // As PostgREST says it to everybody, with an `Origin` or without.
    if (config.corsOrigins === '*') x.setHeader('Access-Control-Allow-Origin', '*');
    x.setHeader('Allow', allowed.join(','));
    x.send(200, '', '');
  };
}

const READABLE = ['OPTIONS', 'GET', 'HEAD'];

async function allowedMethods(
  resource: Resource,
  { schema, role }: { readonly schema: string; readonly role: string },
  database: RestDatabase,
): Promise<readonly string[]> {
  switch (resource.kind) {
    case 'root':
      return READABLE;
    case 'function':
      return withSchema(database, (known) => {
        const overloads = known.functions?.get(schema)?.get(resource.name) ?? [];
        const callable = overloads.filter((one) => !one.isProcedure && mayUse(role, one, known));
        if (callable.length === 0)
          throw noFunction({ schema, name: resource.name, given: [], isJson: false }, null);
        return callMethods(callable);
      });
    case 'table':
      return withSchema(database, (known) => {
        const table = known.tables.get(schema)?.get(resource.name);
        if (!table || !mayUse(role, table, known)) throw noTable(schema, resource.name, undefined);
        return tableMethods(table);
      });
  }
}

/** What GET could not run is not offered for it. */
function callMethods(overloads: readonly StoredFunction[]): readonly string[] {
  return overloads.every(({ volatility }) => volatility === 'volatile')
    ? ['OPTIONS', 'POST']
    : [...READABLE, 'POST'];
}

/** In PostgREST's order. */
function tableMethods({ access, primaryKey }: Table): readonly string[] {
  const { insertable = false, updatable = false, deletable = false } = access ?? {};
  const writes: readonly (readonly [method: string, isAllowed: boolean])[] = [
    ['POST', insertable],
    ['PUT', insertable && updatable && primaryKey.length > 0],
    ['PATCH', updatable],
    ['DELETE', deletable],
  ];
  return [...READABLE, ...writes.flatMap(([method, isAllowed]) => (isAllowed ? [method] : []))];
}
