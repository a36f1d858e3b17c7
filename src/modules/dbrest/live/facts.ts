/** What a database says of itself to those who check a configuration. */
export interface LiveFacts {
  /** 150004. */
  readonly version: number;
  readonly login: RoleFacts;
  /** Absent where the role does not exist, or none is configured. */
  readonly anon?: RoleFacts & { readonly granted: boolean };
  readonly schemas: readonly string[];
  /** Tables without row security that the anonymous role gets at. */
  readonly open: readonly { readonly name: string; readonly writes: boolean }[];
  /** Foreign keys that no index supports: `api.orders (client_id)`. */
  readonly unindexed: readonly string[];
}

/** What rights do not hold for. */
export interface RoleFacts {
  readonly superuser: boolean;
  readonly bypassesRowSecurity: boolean;
}

/** One text of JSON; $1 is the anonymous role or null, $2 the served schemas. Works from PostgreSQL 10 on. */
export const LIVE_SQL = `
with anon as (
  select r.oid, r.rolsuper, r.rolbypassrls from pg_catalog.pg_roles r where r.rolname = $1::text
), served as (
  select n.oid, n.nspname from pg_catalog.pg_namespace n where n.nspname = any($2::text[])
), tables as (
  select c.oid, c.relrowsecurity, s.oid as schema, format('%I.%I', s.nspname, c.relname) as name
  from served s
  join pg_catalog.pg_class c on c.relnamespace = s.oid and c.relkind in ('r', 'p') and not c.relispartition
  where not exists (
    select from pg_catalog.pg_depend d
    where d.classid = 'pg_catalog.pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
  )
), rights as (
  select t.name,
    has_table_privilege(a.oid, t.oid, 'select') or has_any_column_privilege(a.oid, t.oid, 'select') as reads,
    has_table_privilege(a.oid, t.oid, 'insert, update, delete')
      or has_any_column_privilege(a.oid, t.oid, 'insert, update') as writes
  from tables t cross join anon a
  where not t.relrowsecurity and has_schema_privilege(a.oid, t.schema, 'usage')
), foreign_keys as (
  select t.name, k.conrelid, k.conkey, (
    select string_agg(quote_ident(a.attname), ', ' order by p.place)
    from unnest(k.conkey) with ordinality p (number, place)
    join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = p.number
  ) as columns
  from tables t
  join pg_catalog.pg_constraint k on k.conrelid = t.oid and k.contype = 'f'
)
select json_build_object(
  'version', current_setting('server_version_num')::int,
  'login', (
    select json_build_object('superuser', r.rolsuper, 'bypassesRowSecurity', r.rolbypassrls)
    from pg_catalog.pg_roles r where r.rolname = session_user
  ),
  'anon', (
    select json_build_object(
      'superuser', a.rolsuper, 'bypassesRowSecurity', a.rolbypassrls,
      'granted', pg_has_role(
        session_user, a.oid,
        case when current_setting('server_version_num')::int < 160000 then 'member' else 'set' end
      )
    ) from anon a
  ),
  'schemas', coalesce((select json_agg(s.nspname) from served s), '[]'),
  'open', coalesce((
    select json_agg(json_build_object('name', r.name, 'writes', r.writes) order by r.name)
    from rights r where r.reads or r.writes
  ), '[]'),
  'unindexed', coalesce((
    select json_agg(format('%s (%s)', f.name, f.columns) order by f.name, f.columns)
    from foreign_keys f
    where not exists (
      select from pg_catalog.pg_index i
      where i.indrelid = f.conrelid and i.indisvalid and i.indpred is null
        and (i.indkey::int2[])[0:cardinality(f.conkey) - 1] @> f.conkey
    )
  ), '[]')
)::text as facts`;
