import { readDsn, type WireClient, type WireError, withClient } from '../../../postgres/index.ts';
import { FORBIDDEN, type Grantee, SCHEMA_VERSION, schemaSql } from './schema-sql.ts';

/** Something that a database needs to be a store, and its state in one database. */
export interface SchemaItem {
  readonly what: string;
  readonly state: 'ok' | 'missing' | 'wrong';
  readonly detail?: string;
}

interface DatabaseFacts {
  readonly server: string;
  readonly server_number: number;
  readonly source: string | null;
  readonly can_login: boolean | null;
  readonly is_super: boolean | null;
  readonly may_use: boolean | null;
}

const LEAST_SERVER = 130_000;

/**
 * $1 is the role of the gateways. The role of this session may not be allowed to call `version`, so its source is read.
 */
const FACTS_SQL = `
with functions as (
  select p.oid, p.proname, p.prosrc from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace and n.nspname = 'gw_cluster'
), role as (
  select r.oid, r.rolcanlogin, r.rolsuper from pg_catalog.pg_roles r where r.rolname = $1
)
select
  pg_catalog.current_setting('server_version') as server,
  pg_catalog.current_setting('server_version_num')::int as server_number,
  (select f.prosrc from functions f where f.proname = 'version') as source,
  (select r.rolcanlogin from role r) as can_login,
  (select r.rolsuper from role r) as is_super,
  (
    select pg_catalog.bool_and(pg_catalog.has_function_privilege(r.oid, f.oid, 'execute'))
      and pg_catalog.bool_and(pg_catalog.has_schema_privilege(r.oid, n.oid, 'usage'))
    from role r, functions f, pg_catalog.pg_namespace n where n.nspname = 'gw_cluster'
  ) as may_use`;

/** Returns which parts of a store a database has. Rejects with a message of one line if it cannot be asked. */
export function schemaStatus(dsn: string, role: string): Promise<readonly SchemaItem[]> {
  return withDatabase(dsn, (client) => itemsOf(client, role));
}

/**
 * Makes a database a store, in one transaction, and returns what it had before and has now. Rejects with a message of
 * one line.
 */
export function applySchema(
  dsn: string,
  grantee: Grantee,
): Promise<{ readonly before: readonly SchemaItem[]; readonly after: readonly SchemaItem[] }> {
  return withDatabase(dsn, async (client) => {
    const before = await itemsOf(client, grantee.role);
    try {
      // A simple query is one transaction.
      await client.query(schemaSql(grantee));
    } catch (cause) {
      const { message, code } = cause as WireError;
      const way = code === FORBIDDEN ? '; let --dsn name a role that may create schemas and roles' : '';
      throw new Error(`nothing was changed: ${message}${way}`, { cause });
    }
    return { before, after: await itemsOf(client, grantee.role) };
  });
}

function withDatabase<T>(dsn: string, use: (client: WireClient) => Promise<T>): Promise<T> {
  const target = readDsn(dsn);
  if (!('fault' in target)) return withClient(target, use);
  const hint = target.fault.hint === undefined ? '' : `, ${target.fault.hint}`;
  return Promise.reject(new Error(`malformed connection string${hint}`));
}

async function itemsOf(client: WireClient, role: string): Promise<readonly SchemaItem[]> {
  const { rows } = await client.query<DatabaseFacts>(FACTS_SQL, [role]);
  const facts = rows[0] as DatabaseFacts;
  const isOld = facts.server_number < LEAST_SERVER;
  return [
    {
      what: 'server',
      state: isOld ? 'wrong' : 'ok',
      detail: `PostgreSQL ${facts.server}${isOld ? ', 13 is the oldest' : ''}`,
    },
    schemaItem(facts),
    roleItem(role, facts),
    { what: `"${role}" may use them`, state: facts.may_use === true ? 'ok' : 'missing' },
  ];
}

function schemaItem({ source }: DatabaseFacts): SchemaItem {
  const what = 'tables and functions of clusters';
  if (source === null) return { what, state: 'missing' };
  const version = /^select (\d+)$/.exec(source)?.[1] ?? 'unknown';
  const isOwn = version === String(SCHEMA_VERSION);
  const detail = `version ${version}${isOwn ? '' : `, ${SCHEMA_VERSION} is needed`}`;
  return { what, state: isOwn ? 'ok' : 'wrong', detail };
}

function roleItem(role: string, { can_login: canLogin, is_super: isSuper }: DatabaseFacts): SchemaItem {
  const what = `role "${role}"`;
  if (canLogin === null) return { what, state: 'missing' };
  const faults = [!canLogin && 'cannot log in', isSuper && 'is a superuser'].filter(Boolean).join(', ');
  return faults === '' ? { what, state: 'ok' } : { what, state: 'wrong', detail: faults };
}
