/** The privileges that requests need, as the letters of an access control list; others are left out. */
const LETTERS = `string_agg(distinct case e.privilege_type
  when 'SELECT' then 'r' when 'INSERT' then 'a' when 'UPDATE' then 'w' when 'DELETE' then 'd' else '' end, '')`;

/**
 * Sections that only the description of an API needs, to follow those of `CATALOGUE_SQL`, whose `relations` they use: who
 * may do what (`access`, behind its table), what types are made of (`shape`), and the schemas (`namespace`).
 */
export const DISCOVERY_SQL = `
union all
select 'access', json_build_array(
  c.oid::text,
  case when c.relkind in ('r', 'p') then 28 else pg_catalog.pg_relation_is_updatable(c.oid, true) end,
  coalesce(whole.grants, '[]'), coalesce(parts.grants, '[]'), c.relispartition)::text
from relations c
left join (
  select g.oid, json_agg(json_build_array(g.grantee::text, g.letters)) as grants
  from (
    select c.oid, e.grantee, ${LETTERS} as letters
    from relations c
    cross join lateral pg_catalog.aclexplode(coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner))) e
    group by c.oid, e.grantee
  ) g
  where g.letters <> ''
  group by g.oid
) whole on whole.oid = c.oid
left join (
  select g.oid, json_agg(json_build_array(g.attnum, g.grantee::text, g.letters)) as grants
  from (
    select c.oid, a.attnum, e.grantee, ${LETTERS} as letters
    from relations c
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    cross join lateral pg_catalog.aclexplode(a.attacl) e
    group by c.oid, a.attnum, e.grantee
  ) g
  where g.letters <> ''
  group by g.oid
) parts on parts.oid = c.oid
union all
select 'shape', json_build_array(
  pg_catalog.format_type(t.oid, null), t.typtype,
  case t.typtype
    when 'e' then (
      select json_agg(l.enumlabel order by l.enumsortorder) from pg_catalog.pg_enum l where l.enumtypid = t.oid)
    when 'd' then to_json(pg_catalog.format_type(t.typbasetype, t.typtypmod))
    when 'c' then (
      select json_agg(json_build_array(a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)) order by a.attnum)
      from pg_catalog.pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped)
  end,
  t.typnotnull, d.description)::text
from pg_catalog.pg_type t
join pg_catalog.pg_namespace n on n.oid = t.typnamespace
left join pg_catalog.pg_class c on c.oid = t.typrelid
left join pg_catalog.pg_description d
  on d.classoid = 'pg_catalog.pg_type'::regclass and d.objoid = t.oid and d.objsubid = 0
where n.nspname <> 'information_schema' and n.nspname !~ '^pg_(catalog|toast|temp_|toast_temp_)'
  and (t.typtype in ('e', 'd') or t.typtype = 'c' and c.relkind = 'c' or t.typtype = 'b' and exists (
    select from pg_catalog.pg_cast k
    where k.castsource = t.oid and k.casttarget = 'pg_catalog.json'::regtype and k.castmethod = 'f'))
union all
select 'namespace', json_build_array(n.nspname, d.description, (
  select json_agg(distinct e.grantee::text)
  from pg_catalog.aclexplode(coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner))) e
  where e.privilege_type = 'USAGE'))::text
from pg_catalog.pg_namespace n
left join pg_catalog.pg_description d
  on d.classoid = 'pg_catalog.pg_namespace'::regclass and d.objoid = n.oid and d.objsubid = 0
where n.nspname <> 'information_schema' and n.nspname !~ '^pg_(catalog|toast|temp_|toast_temp_)'`;
