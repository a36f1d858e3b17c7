import { DISCOVERY_SQL } from './discovery-sql.ts';
import { FUNCTIONS_SQL } from './functions-sql.ts';
import { INERT_SQL } from './inert-sql.ts';
import { WRITE_FACTS_SQL } from './write-facts-sql.ts';

/**
 * Rows of a section's name and an entry of it, JSON but for `viewTree` (object id, blank, parse tree). Valid for PostgreSQL
 * 12 to 18. System schemas and
 * partitions are left out: what is not in the cache cannot be named by a request. Object ids are texts,
 * columns of keys are numbers. One statement is one snapshot.
 */
export const CATALOGUE_SQL = `
with recursive privileges(role, of) as (
  select r.oid, r.oid from pg_catalog.pg_roles r where pg_catalog.pg_has_role(r.oid, 'member')
  union
  select p.role, m.roleid
  from privileges p
  join pg_catalog.pg_auth_members m on m.member = p.of and pg_catalog.pg_has_role(p.of, m.roleid, 'usage')
),
relations as (
  select c.oid, c.relname, n.nspname, c.relkind, c.reltype, c.relacl, c.relowner, c.relispartition
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f')
    and not c.relispartition and n.nspname <> 'information_schema' and n.nspname !~ '^pg_(catalog|toast|temp_|toast_temp_)'
),
attributes as (
  select a.attrelid, json_agg(json_build_array(
    a.attnum, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), d.description) order by a.attnum) as columns
  from pg_catalog.pg_attribute a
  join relations c on c.oid = a.attrelid
  left join pg_catalog.pg_description d
    on d.classoid = 'pg_catalog.pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum
  where a.attnum > 0 and not a.attisdropped
  group by a.attrelid
),
grants as (
  select lists.oid, json_agg(distinct e.grantee::text) as grantees
  from (
    select c.oid, coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner)) as list from relations c
    union all
    select a.attrelid, a.attacl from pg_catalog.pg_attribute a
    join relations c on c.oid = a.attrelid where a.attacl is not null
  ) lists
  cross join lateral pg_catalog.aclexplode(lists.list) e
  group by lists.oid
),
keys as (
  select k.conrelid, json_agg(json_build_array(k.contype, k.conkey) order by k.contype, k.conname) as keys
  from pg_catalog.pg_constraint k
  where k.contype in ('p', 'u')
  group by k.conrelid
)
select 'table', json_build_array(
  c.oid::text, c.nspname, c.relname, c.relkind, coalesce(a.columns, '[]'), coalesce(k.keys, '[]'),
  coalesce(g.grantees, '[]'), d.description)::text
from relations c
left join attributes a on a.attrelid = c.oid
left join grants g on g.oid = c.oid
left join keys k on k.conrelid = c.oid
left join pg_catalog.pg_description d
  on d.classoid = 'pg_catalog.pg_class'::regclass and d.objoid = c.oid and d.objsubid = 0
union all
select 'viewTree', c.oid || ' ' || r.ev_action::text
from relations c
join pg_catalog.pg_rewrite r on r.ev_class = c.oid and r.ev_type = '1'
where c.relkind in ('v', 'm')
union all
(
  select 'foreignKey', json_build_array(f.conname, f.conrelid::text, f.confrelid::text, f.conkey, f.confkey)::text
  from pg_catalog.pg_constraint f
  join relations c on c.oid = f.conrelid
  where f.contype = 'f' and f.conparentid = 0
  order by f.conname, f.oid
)
union all
(
  select 'rowFunction', json_build_array(
    argument.oid::text, n.nspname, p.proname, pg_catalog.format_type(p.prorettype, null), p.proretset, p.prorows,
    (select c.oid::text from relations c where c.reltype = p.prorettype))::text
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  join relations argument on argument.reltype = p.proargtypes[0]
  where p.prokind = 'f' and p.pronargs > 0 and p.pronargs - p.pronargdefaults <= 1
  order by p.oid
)
union all ${FUNCTIONS_SQL}
union all
(
  select 'type', json_build_array(
    n.nspname, t.typname, pg_catalog.format_type(t.oid, null), pg_catalog.format_type(nullif(t.typbasetype, 0), null))::text
  from pg_catalog.pg_type t
  join pg_catalog.pg_namespace n on n.oid = t.typnamespace
  left join pg_catalog.pg_class c on c.oid = t.typrelid
  where (t.typtype in ('d', 'e', 'r', 'm') or (t.typtype = 'b' and t.typcategory <> 'A') or c.relkind = 'c')
    and n.nspname not in ('pg_catalog', 'information_schema')
  order by t.oid
)
union all
select 'representation', json_build_array(
  pg_catalog.format_type(d.oid, null), k.castsource = d.oid, n.nspname, p.proname)::text
from pg_catalog.pg_cast k
join pg_catalog.pg_proc p on p.oid = k.castfunc and p.pronargs = 1
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
join pg_catalog.pg_type d on d.typtype = 'd' and (
  (k.castsource = d.oid and k.casttarget = 'pg_catalog.json'::pg_catalog.regtype)
  or (k.casttarget = d.oid and k.castsource = 'pg_catalog.text'::pg_catalog.regtype))
union all
select distinct 'textSearchConfig', to_json(c.cfgname)::text
from pg_catalog.pg_ts_config c
union all
select 'role', json_build_array(
  r.rolname, r.rolsuper, (select json_agg(p.of::text) from privileges p where p.role = r.oid),
  (
    select json_agg(json_build_array(s.name, pg_catalog.substr(c, pg_catalog.strpos(c, '=') + 1)) order by s.name)
    from pg_catalog.pg_roles o, pg_catalog.unnest(o.rolconfig) c
    join pg_catalog.pg_settings s on pg_catalog.lower(s.name) = pg_catalog.lower(pg_catalog.split_part(c, '=', 1))
    where o.oid = r.oid and s.context = 'user' and s.name ~ '^[A-Za-z_][A-Za-z0-9_.]*$'
      and s.name not in ('role', 'search_path', 'transaction_read_only') and s.name not like 'default_transaction_%'
  ))::text
from pg_catalog.pg_roles r
where pg_catalog.pg_has_role(r.oid, 'member')
${WRITE_FACTS_SQL}
${DISCOVERY_SQL}
${INERT_SQL}`;
