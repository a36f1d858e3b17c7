/**
 * The section `writing`, to follow those of `CATALOGUE_SQL`, whose `relations` it uses: what a write has to know of columns
 * (only of those of which there is something to know) and of unique indexes over plain columns.
 */
export const WRITE_FACTS_SQL = `
union all
select 'writing', json_build_array(c.oid::text, coalesce(facts.columns, '[]'), coalesce(indexes.list, '[]'))::text
from relations c
left join (
  select a.attrelid, json_agg(json_build_array(
    a.attnum, a.attnotnull or t.typnotnull, a.attidentity, a.attgenerated <> '',
    case
      when a.attidentity = 'd' then (
        select 'pg_catalog.nextval(' || pg_catalog.quote_literal(s.objid::regclass::text) || '::pg_catalog.regclass)'
        from pg_catalog.pg_depend s
        where s.refclassid = 'pg_catalog.pg_class'::regclass and s.refobjid = a.attrelid and s.refobjsubid = a.attnum
          and s.classid = 'pg_catalog.pg_class'::regclass and s.deptype = 'i'
        limit 1)
      when a.attgenerated <> '' then null
      else coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), pg_catalog.pg_get_expr(t.typdefaultbin, 0))
    end)) as columns
  from pg_catalog.pg_attribute a
  join relations c on c.oid = a.attrelid
  join pg_catalog.pg_type t on t.oid = a.atttypid
  left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attnum > 0 and not a.attisdropped
    and (a.attnotnull or a.attidentity <> '' or a.atthasdef or t.typtype = 'd' and (t.typnotnull or t.typdefaultbin is not null))
  group by a.attrelid
) facts on facts.attrelid = c.oid
left join (
  select i.indrelid, json_agg(json_build_array(
    (i.indkey::int2[])[0:i.indnkeyatts - 1], pg_catalog.pg_get_expr(i.indpred, i.indrelid)) order by i.indexrelid) as list
  from pg_catalog.pg_index i
  join relations c on c.oid = i.indrelid
  where i.indisunique and i.indisvalid and i.indimmediate and i.indexprs is null
  group by i.indrelid
) indexes on indexes.indrelid = c.oid
where facts.columns is not null or indexes.list is not null`;
