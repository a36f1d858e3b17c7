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
  summary: 'a database served without saying which schema',
  why: 'The default is "public", where extensions put their tables and functions, and where a new table is served as soon as it is created.',
  fix: 'Create a schema with the views and functions that are meant to be served, and name it: dbrest_schemas api.',
  bad: { text: 'location /api/ { dbrest_pass embedded; dbrest_anon_role anon; }' },
  good: { text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }' },
  *check(config): Iterable<Problem> {
    for (const { node, block } of servedDatabases(config)) {
      if (config.nodesIn(block, 'schemas').length > 0) continue;
      yield {
        at: node,
        message: '"dbrest_schemas" is not set: "public" is served with every table of every extension',
        hint: 'name a schema that is made to be served: dbrest_schemas api',
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
  summary: 'a schema of the system is served',
  why: 'It exposes all tables, roles and functions; "auth" and similar schemas contain users and their passwords.',
  fix: 'Serve views in a schema of your own that show what is meant to be shown.',
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
          message: `"dbrest_schemas" serves "${schema}", a schema of the system`,
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
  summary: 'tables that strangers may try to write to',
  why: 'Only the privileges of the anonymous role protect the rows: one grant too many, and anyone can change or delete them.',
  fix: 'Say who may write: limit_except GET { allow …; deny all; }, or leave out dbrest_anon_role where tokens are needed anyway.',
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
        message: `${method} requests of anyone reach the database as the anonymous role`,
        hint: 'say who may write: limit_except GET { deny all; }',
      };
    }
  },
};

/** Tells whether a location serves functions alone; it then needs POST, and has no tables. */
export function servesFunctions({ block, settings: { rpc } }: ServedDatabase): boolean {
  const match = matchOf(block);
  const path = match && 'path' in match ? match.path : '';
  return functionPath({ path }, rpc) === '/';
}

const dbrestNoLimit: ModuleRule<DbrestConfig> = {
  id: 'GW611',
  slug: 'dbrest-no-limit',
  severity: 'warning',
  summary: 'tables that strangers may read as a whole in one request',
  why: 'One request can copy a whole table and keep the database busy meanwhile.',
  fix: 'Set dbrest_max_rows.',
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
      // The database may bound them.
      if (anonRole === undefined || maxRows?.usual !== undefined || databaseSettings) continue;
      if (!config.isOpen(block)) continue;
      yield {
        at: node,
        message: 'anyone may read whole tables: "dbrest_max_rows" is not set',
        hint: 'add dbrest_max_rows 1000',
      };
    }
  },
};

const dbrestPrefixSlash: ModuleRule<DbrestConfig> = {
  id: 'GW615',
  slug: 'dbrest-prefix-slash',
  severity: 'warning',
  summary: 'a location for a database that also takes its neighbours',
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
  summary: 'the description of all tables and functions is shown to strangers',
  why: 'With "ignore-privileges" the root of the location lists what the anonymous role may not even use.',
  fix: 'Leave dbrest_openapi at follow-privileges, or turn it off.',
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
        message: '"dbrest_openapi ignore-privileges" shows strangers what they may not use',
      };
    }
  },
};

const dbrestTableOpen: ModuleRule<DbrestConfig> = {
  id: 'GW652',
  slug: 'dbrest-table-open',
  severity: 'warning',
  live: true,
  summary: 'a table that strangers can access as a whole',
  why: 'The anonymous role was granted access to the table, and no row security restricts the rows.',
  fix: 'Enable row level security and write policies, or revoke the privilege; if it is intended, say so: # gw-ignore GW652: ….',
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
  why: 'Every request for it fails.',
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
  summary: 'a limit of "dbrest_max_rows" for something that the database does not have',
  why: 'The limit has no effect; what it is meant for has the general limit, or none.',
  fix: 'Correct the name: that of the path, without a schema.',
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
