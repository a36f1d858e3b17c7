import { type DbrestConfig, loginRoleOf } from '../directives/index.ts';
import { apiFacts, writeDocument } from '../openapi/index.ts';
import {
  type Column,
  EVERY_RIGHT,
  relationshipsOf,
  rightsOf,
  type Schema,
  type StoredFunction,
  type Table,
} from '../schema/index.ts';
import { inSlices } from '../event-loop.ts';
import { readSchema } from './read-schema.ts';

/** A location that serves a database. */
interface RestLocation {
  readonly config: DbrestConfig;
  readonly path: string;
}

/** The role and schema of an API document; by default those of a request without a token and profile. */
interface ApiView {
  readonly role?: string | undefined;
  readonly schema?: string | undefined;
}

function roleWithoutToken({ anonRole, jwtKeys, pass }: DbrestConfig): string | undefined {
  return anonRole ?? (jwtKeys || !pass ? undefined : loginRoleOf(pass));
}

/** Returns the OpenAPI document of a location for a role, or a fault. Rejects if the database cannot be read. */
export async function describeApi(
  { config, path }: RestLocation,
  { role = roleWithoutToken(config), schema = config.schemas[0] ?? '' }: ApiView,
): Promise<{ readonly document: unknown } | { readonly fault: string }> {
  if (!config.schemas.includes(schema)) {
    return { fault: `schema "${schema}" is not served, expected ${config.schemas.join(', ')}` };
  }
  const ignoresRights = config.openapi === 'ignore-privileges';
  if (role === undefined && !ignoresRights)
    return { fault: 'the location has no anonymous role: name a role' };
  const known = await readSchema(config.pass);
  if (!ignoresRights && role !== undefined && !known.roles.has(role)) {
    return { fault: `role "${role}" does not exist, or the login role may not become it` };
  }
  const rights = ignoresRights ? EVERY_RIGHT : rightsOf(role as string, known);
  const rest = await inSlices(
    writeDocument({ known, schema, rights, api: apiFacts(config, { kind: 'prefix', path }) }),
  );
  const url = JSON.stringify(path.replace(/\/$/, '') || '/');
  return {
    document: JSON.parse(`{"openapi":"3.1.0","servers":[{"url":${url}}],${rest.toString()}`) as unknown,
  };
}

/** Returns the schema cache of a location for the schemas that it serves. Rejects if the database cannot be read. */
export async function dumpSchema({ config }: Pick<RestLocation, 'config'>): Promise<unknown> {
  const known = await readSchema(config.pass);
  const inSchemas = <T>(of: ReadonlyMap<string, T> | undefined): readonly T[] =>
    config.schemas.flatMap((name) => of?.get(name) ?? []);
  return {
    schemas: config.schemas.map((name) => ({ name, comment: known.namespaces?.get(name)?.comment })),
    tables: inSchemas(known.tables).flatMap((tables) =>
      Array.from(tables.values(), (table) => tableFacts(table, known)),
    ),
    functions: inSchemas(known.functions).flatMap((functions) =>
      [...functions.values()].flat().map(functionFacts),
    ),
    mediaHandlers: known.mediaHandlers ?? [],
    types: Array.from(known.shapes ?? [], ([name, shape]) => ({ name, ...shape })),
    roles: [...known.roles.keys()].sort(),
    textSearchConfigs: [...known.textSearchConfigs].sort(),
  };
}

const KINDS = { r: 'table', p: 'partitioned table', v: 'view', m: 'materialized view', f: 'foreign table' };

function tableFacts(table: Table, known: Schema) {
  const { schema, name, kind = 'r', comment, primaryKey, uniques = [], access } = table;
  return {
    schema,
    name,
    kind: KINDS[kind],
    ...(comment !== undefined && { comment }),
    columns: Array.from(table.columns.values(), (column: Column) => column),
    primaryKey,
    uniques,
    insertable: access?.insertable ?? false,
    updatable: access?.updatable ?? false,
    deletable: access?.deletable ?? false,
    relationships: relationshipsOf(table, known).map((relationship) => ({
      cardinality: relationship.cardinality,
      target: relationship.target.name,
      constraint: relationship.constraint,
      columns: relationship.pairs,
      ...(relationship.junction && {
        junction: {
          table: relationship.junction.table.name,
          constraint: relationship.junction.constraint,
          columns: relationship.junction.pairs,
        },
      }),
    })),
    computed: (table.functions ?? []).map(({ name: called, type, returnsSet }) => ({
      name: called,
      type,
      returnsSet,
    })),
  };
}

function functionFacts(called: StoredFunction) {
  return { ...called, grantees: undefined };
}
