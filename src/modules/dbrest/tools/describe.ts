import { type DbrestConfig, loginRoleOf, type DbrestPass } from '../directives/index.ts';
import { apiFacts, writeDocument } from '../openapi/index.ts';
import {
  type Column,
  EVERY_RIGHT,
  relationshipsOf,
  rightsOf,
  type Schema,
  type StoredFunction,
  type Table,
  CatalogueWriter,
  schemaOf,
} from '../schema/index.ts';
import { inSlices } from '../event-loop.ts';
import { type ApiTypes, describeTypes } from '../types/index.ts';
import { catalogueSteps } from '../database/index.ts';
import type { RunStep } from '../session/index.ts';
import { withDatabase } from './open-database.ts';

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
    writeDocument({ known, schema, rights, api: apiFacts(config, { location: { kind: 'prefix', path } }) }),
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

/** The schemas to describe, in the order of `dbrest_schemas`, as a role sees them or completely. */
interface TypesView {
  readonly schemas: readonly string[];
  readonly role?: string | undefined;
  /** `dbrest_nested_insert` of the location; a database without one has none. */
  readonly nests?: boolean;
}

/** Returns the types of schemas of a database, or a fault. Rejects if the database cannot be read. */
export async function describeDatabase(
  pass: DbrestPass,
  { schemas, role, nests = false }: TypesView,
): Promise<{ readonly types: ApiTypes } | { readonly fault: string }> {
  const known = await readSchema(pass);
  const missing = schemas.find((name) => known.namespaces?.has(name) !== true);
  if (missing !== undefined) {
    const others = [...(known.namespaces?.keys() ?? [])].sort().join(', ');
    return { fault: `schema "${missing}" does not exist, expected ${others}` };
  }
  if (role !== undefined && !known.roles.has(role))
    return { fault: `role "${role}" does not exist, or the login role may not become it` };
  const rights = role === undefined ? EVERY_RIGHT : rightsOf(role, known);
  return { types: await inSlices(describeTypes({ known, schemas, rights, nests })) };
}

const TIMEOUT_MS = 30_000;
/** A transaction that begins and ends with its batch: some poolers have no others. */
const READ_ONLY: RunStep = {
  statement: { text: `select pg_catalog.set_config('transaction_read_only', 'on', true)`, values: [] },
};

/** Reads the schema cache of a database once. Rejects with a message of one line if the database cannot be read. */
export async function readSchema(pass: DbrestPass | undefined): Promise<Schema> {
  if (!pass) throw new Error('the location serves no database');
  const catalogue = await withDatabase(pass, async (session) => {
    const sink = new CatalogueWriter();
    await session.run([READ_ONLY, ...catalogueSteps(sink)], TIMEOUT_MS);
    return sink.finish();
  });
  return inSlices(schemaOf({ catalogue, reads: 1, beganMs: 0 }));
}
