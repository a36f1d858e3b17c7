import type { Column, Schema, Table } from './types.ts';

/**
 * One row, one column: JSON of everything. Valid for PostgreSQL 12 to 18. System schemas are left out: what is not in
 * the cache cannot be named by a request.
 */
export const CATALOGUE_SQL = `
with recursive privileges(role, of) as (
  select r.oid, r.oid from pg_catalog.pg_roles r where pg_catalog.pg_has_role(r.oid, 'member')
  union
  select p.role, m.roleid
  from privileges p
  join pg_catalog.pg_roles r on r.oid = p.of and r.rolinherit
  join pg_catalog.pg_auth_members m on m.member = p.of
)
select json_build_object(
  'tables', (
    select coalesce(json_agg(json_build_array(n.nspname, c.relname, col.columns, key.columns, acl.grantees)), '[]')
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    cross join lateral (
      select coalesce(json_agg(json_build_array(
        a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)) order by a.attnum), '[]') as columns
      from pg_catalog.pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    ) col
    cross join lateral (
      select coalesce(json_agg(a.attname order by k.position), '[]') as columns
      from pg_catalog.pg_index i
      cross join lateral unnest(i.indkey::int2[]) with ordinality k(attnum, position)
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
      where i.indrelid = c.oid and i.indisprimary
    ) key
    cross join lateral (
      select coalesce(json_agg(distinct e.grantee::text), '[]') as grantees
      from (
        select coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner)) as list
        union all
        select a.attacl from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attacl is not null
      ) lists
      cross join lateral pg_catalog.aclexplode(lists.list) e
    ) acl
    where c.relkind in ('r', 'p', 'v', 'm', 'f')
      and n.nspname <> 'information_schema' and n.nspname !~ '^pg_(catalog|toast|temp_|toast_temp_)'
  ),
  'textSearchConfigs', (
    select coalesce(json_agg(c.cfgname), '[]')
    from pg_catalog.pg_ts_config c where pg_catalog.pg_ts_config_is_visible(c.oid)
  ),
  'roles', (
    select json_agg(json_build_array(r.rolname, r.rolsuper, (
      select json_agg(p.of::text) from privileges p where p.role = r.oid)))
    from pg_catalog.pg_roles r where pg_catalog.pg_has_role(r.oid, 'member')
  )
)::text`;

type TableRow = readonly [
  schema: string,
  table: string,
  columns: readonly (readonly [name: string, type: string])[],
  primaryKey: readonly string[],
  grantees: readonly string[],
];

interface CatalogueRow {
  readonly tables: readonly TableRow[];
  readonly textSearchConfigs: readonly string[];
  readonly roles: readonly (readonly [name: string, isSuperuser: boolean, privilegesOf: readonly string[]])[];
}

/** PUBLIC, in access control lists. */
const EVERYBODY = '0';

/** The row of `CATALOGUE_SQL` as a schema. */
export function readCatalogue(json: string): Schema {
  const row = JSON.parse(json) as CatalogueRow;
  const tables = new Map<string, Map<string, Table>>();
  for (const [schema, name, columns, primaryKey, grantees] of row.tables) {
    const siblings = tables.get(schema) ?? new Map<string, Table>();
    tables.set(schema, siblings);
    const byName = new Map<string, Column>(columns.map(([column, type]) => [column, { name: column, type }]));
    siblings.set(name, { schema, name, columns: byName, primaryKey, grantees });
  }
  const roles = row.roles.map(([name, isSuperuser, privilegesOf]) => {
    return [name, isSuperuser ? 'all' : new Set([EVERYBODY, ...privilegesOf])] as const;
  });
  return { tables, textSearchConfigs: new Set(row.textSearchConfigs), roles: new Map(roles) };
}
