import { type DirectiveNode, lengthened } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import { type CheckedModule, matchOf, type ModuleRule, type Problem } from '../../../contract/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { functionPath } from '../request/index.ts';

/** A location with `dbrest_pass`. */
export interface ServedDatabase {
  /** The directive `dbrest_pass`. */
  readonly node: DirectiveNode;
  readonly block: BlockView;
  readonly settings: DbrestConfig;
}

/** All locations with `dbrest_pass`. */
export function servedDatabases(config: CheckedModule<DbrestConfig>): readonly ServedDatabase[] {
  return config.uses('dbrest_pass').flatMap(({ node, block }) => {
    const settings = config.configIn(block);
    return settings.pass ? [{ node, block, settings }] : [];
  });
}

const dbrestNoSchema: ModuleRule<DbrestConfig> = {
  id: 'GW607',
  slug: 'dbrest-no-schema',
  severity: 'warning',
  summary: 'a database served without "dbrest_schemas"',
  why: 'The default is "public". Extensions put their tables and functions there, and each new table is served as soon as it is created.',
  fix: 'Create a schema with the views and functions to be served, and name it: "dbrest_schemas api;".',
  bad: { text: 'location /api/ { dbrest_pass embedded; dbrest_anon_role anon; }' },
  good: { text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }' },
  *check(config): Iterable<Problem> {
    for (const { node, block } of servedDatabases(config)) {
      if (config.nodesIn(block, 'schemas').length > 0) continue;
      yield {
        at: node,
        message: '"dbrest_schemas" is not set: "public" is served with every table of every extension',
        hint: 'name a schema made for that: dbrest_schemas api',
      };
    }
  },
};

/** Schemas of PostgreSQL, and those in which platforms store passwords, keys and jobs. */
const SYSTEM_SCHEMAS = /^(?:pg_\w+|information_schema|auth|vault|pgsodium|pgsodium_masks|cron|supabase_\w+)$/;

const dbrestSystemSchema: ModuleRule<DbrestConfig> = {
  id: 'GW608',
  slug: 'dbrest-system-schema',
  severity: 'error',
  summary: 'a system schema is served',
  why: 'It exposes all tables, roles and functions; "auth" and similar schemas contain users and their passwords.',
  fix: 'Serve views in a schema of your own.',
  bad: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas "api, pg_catalog"; dbrest_anon_role anon; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas "api, reports"; dbrest_anon_role anon; }',
  },
  *check(config): Iterable<Problem> {
    for (const { node, block } of config.uses('dbrest_schemas')) {
      for (const schema of config.configIn(block).schemas.filter((name) => SYSTEM_SCHEMAS.test(name))) {
        const word = node.args.find(({ value }) => value.split(/[\s,]+/).includes(schema));
        yield {
          at: word?.span ?? node,
          message: `"dbrest_schemas" serves the system schema "${schema}"`,
        };
      }
    }
  },
};

const WRITES = ['POST', 'PATCH', 'PUT', 'DELETE'];

const dbrestWritesOpen: ModuleRule<DbrestConfig> = {
  id: 'GW610',
  slug: 'dbrest-writes-open',
  severity: 'warning',
  summary: 'tables that unauthenticated clients may try to write to',
  why: 'Only the privileges of the anonymous role protect the rows. With one grant too many, anyone can change or delete them.',
  fix: 'Restrict writes: "limit_except GET { allow …; deny all; }", or remove "dbrest_anon_role" if tokens are required anyway.',
  bad: {
    in: 'http',
    text: `server {
  listen 443;
  location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_max_rows 100; }
}`,
  },
  good: {
    in: 'http',
    text: `server {
  listen 443;
  location /api/ {
    dbrest_pass embedded;
    dbrest_schemas api;
    dbrest_anon_role anon;
    dbrest_max_rows 100;
    limit_except GET { allow 10.0.0.0/8; deny all; }
  }
}`,
  },
  *check(config): Iterable<Problem> {
    for (const served of servedDatabases(config)) {
      const { node, block, settings } = served;
      if (settings.anonRole === undefined || servesFunctions(served)) continue;
      const method = WRITES.find((name) => config.isOpen(block, name));
      if (method === undefined) continue;
      yield {
        at: node,
        message: `unauthenticated ${method} requests reach the database as the anonymous role`,
        hint: 'restrict writes: limit_except GET { deny all; }',
      };
    }
  },
};

/** Returns whether a location only serves functions; it then needs POST, and has no tables. */
export function servesFunctions({ block, settings: { rpc } }: ServedDatabase): boolean {
  const match = matchOf(block);
  const path = match && 'path' in match ? match.path : '';
  return functionPath({ path }, rpc) === '/';
}

const dbrestNoLimit: ModuleRule<DbrestConfig> = {
  id: 'GW611',
  slug: 'dbrest-no-limit',
  severity: 'warning',
  summary: 'tables that anyone can read as a whole in one request',
  why: 'One request can copy a whole table and keep the database busy meanwhile.',
  fix: 'Set "dbrest_max_rows".',
  bad: {
    in: 'http',
    text: `server {
  listen 443;
  location /api/ {
    dbrest_pass embedded;
    dbrest_schemas api;
    dbrest_anon_role anon;
    limit_except GET { deny all; }
  }
}`,
  },
  good: {
    in: 'http',
    text: `server {
  listen 443;
  location /api/ {
    dbrest_pass embedded;
    dbrest_schemas api;
    dbrest_anon_role anon;
    dbrest_max_rows 1000;
    limit_except GET { deny all; }
  }
}`,
  },
  *check(config): Iterable<Problem> {
    for (const { node, block, settings } of servedDatabases(config)) {
      const { anonRole, maxRows, databaseSettings } = settings;
      // The database may limit the rows.
      if (anonRole === undefined || maxRows?.usual !== undefined || databaseSettings) continue;
      if (!config.isOpen(block)) continue;
      yield {
        at: node,
        message: 'anyone can read whole tables: "dbrest_max_rows" is not set',
        hint: 'add "dbrest_max_rows 1000"',
      };
    }
  },
};

const dbrestPrefixSlash: ModuleRule<DbrestConfig> = {
  id: 'GW615',
  slug: 'dbrest-prefix-slash',
  severity: 'warning',
  summary: 'a location for a database that also matches longer names',
  why: 'The prefix "/rest" also matches "/restore": requests for another part of the site go to the database.',
  fix: 'End the location with a slash.',
  bad: { text: 'location /rest { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }' },
  good: { text: 'location /rest/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }' },
  *check(config): Iterable<Problem> {
    for (const { block } of servedDatabases(config)) {
      const match = matchOf(block);
      const prefix = block.node?.args.at(-1);
      if (match?.kind !== 'prefix' || match.path.endsWith('/') || !prefix) continue;
      yield {
        at: prefix.span,
        message: `location "${match.path}" also takes "${match.path}ore" to the database`,
        fix: {
          title: `end the location with "/": "${match.path}" itself is then handled differently`,
          safe: false,
          edits: [lengthened(prefix, '/')],
        },
      };
    }
  },
};

const dbrestOpenapiPublic: ModuleRule<DbrestConfig> = {
  id: 'GW617',
  slug: 'dbrest-openapi-public',
  severity: 'info',
  summary: 'the description of all tables and functions is public',
  why: 'With "ignore-privileges", the root of the location also lists tables and functions that the anonymous role may not use.',
  fix: 'Leave "dbrest_openapi" at "follow-privileges", or turn it off.',
  bad: {
    in: 'http',
    text: `server {
  listen 443;
  location /api/ {
    dbrest_pass embedded;
    dbrest_schemas api;
    dbrest_anon_role anon;
    dbrest_max_rows 1000;
    dbrest_openapi ignore-privileges;
    limit_except GET { deny all; }
  }
}`,
  },
  good: {
    in: 'http',
    text: `server {
  listen 443;
  location /api/ {
    dbrest_pass embedded;
    dbrest_schemas api;
    dbrest_anon_role anon;
    dbrest_max_rows 1000;
    limit_except GET { deny all; }
  }
}`,
  },
  *check(config): Iterable<Problem> {
    for (const { node, block, settings } of servedDatabases(config)) {
      const { anonRole, openapi } = settings;
      if (openapi !== 'ignore-privileges' || anonRole === undefined || !config.isOpen(block)) continue;
      yield {
        at: config.nodesIn(block, 'openapi')[0] ?? node,
        message: '"dbrest_openapi ignore-privileges" shows anyone what they may not use',
      };
    }
  },
};

const dbrestTableOpen: ModuleRule<DbrestConfig> = {
  id: 'GW652',
  slug: 'dbrest-table-open',
  severity: 'warning',
  live: true,
  summary: 'a table that anyone can access as a whole',
  why: 'The anonymous role has access to the table, and row security does not restrict the rows.',
  fix: 'Enable row level security and write policies, or revoke the privilege; if it is intended, ignore the finding: "# gw-ignore GW652: …".',
  bad: {
    text: `# grant select on api.users to anon
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
  good: {
    text: `# alter table api.users enable row level security
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};

const dbrestSchemaMissing: ModuleRule<DbrestConfig> = {
  id: 'GW653',
  slug: 'dbrest-schema-missing',
  severity: 'error',
  live: true,
  summary: 'a schema that the database does not have',
  why: 'All requests for it fail.',
  fix: 'Correct the name, or create the schema.',
  bad: {
    text: `# there is no schema "apy"
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas apy; dbrest_anon_role anon; }`,
  },
  good: {
    text: `# create schema api
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};

const dbrestLimitUnknown: ModuleRule<DbrestConfig> = {
  id: 'GW660',
  slug: 'dbrest-limit-unknown',
  severity: 'warning',
  live: true,
  summary: 'a limit of "dbrest_max_rows" for a name that the database does not have',
  why: 'The limit has no effect: the intended table has the general limit, or none.',
  fix: 'Correct the name. It is the name in the path, without a schema.',
  bad: {
    text: `# there is no table "ordres"
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; dbrest_max_rows 1000 ordres=100; }`,
  },
  good: {
    text: `# create table api.orders
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; dbrest_max_rows 1000 orders=100; }`,
  },
};

/** Rules about the schemas and tables that are served. */
export const SERVED_RULES: readonly ModuleRule<DbrestConfig>[] = [
  dbrestNoSchema,
  dbrestSystemSchema,
  dbrestWritesOpen,
  dbrestNoLimit,
  dbrestPrefixSlash,
  dbrestOpenapiPublic,
  dbrestTableOpen,
  dbrestSchemaMissing,
  dbrestLimitUnknown,
];
