/**
 * The section `inert`, to follow those of `CATALOGUE_SQL`, whose `relations` it uses: object ids of the relations whose rows
 * are read without running a function that users of the database made, or a volatile one. Such a read can leave no setting
 * behind in its session. Row security, foreign tables and types of users (but for enums) are taken for such functions.
 * Rules of views depend in the catalogue on what users made; what PostgreSQL brings (object ids below 16384) stands in their
 * parse trees alone.
 */
export const INERT_SQL = `
union all
select 'inert', to_json(c.oid::text)::text
from relations c
where c.oid not in (
  with recursive active(oid) as (
    select c.oid
    from relations c
    join pg_catalog.pg_class k on k.oid = c.oid
    where k.relkind = 'f' or k.relrowsecurity
      or exists (
        select from pg_catalog.pg_attribute a
        join pg_catalog.pg_type t on t.oid = a.atttypid
        left join pg_catalog.pg_type e on e.oid = t.typelem and t.typcategory = 'A'
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          and t.oid >= 16384 and coalesce(e.typtype, t.typtype) <> 'e')
      or k.relkind = 'v' and exists (
        select from pg_catalog.pg_rewrite r
        where r.ev_class = c.oid and (
          exists (
            select from pg_catalog.pg_depend d
            where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = r.oid
              and (
                d.refclassid in (
                  'pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass, 'pg_catalog.pg_type'::regclass)
                or d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> c.oid
                  and d.refobjid not in (select oid from relations)))
          or exists (
            select from pg_catalog.regexp_matches(r.ev_action::text, ':(?:funcid|opfuncid|aggfnoid|winfnoid) ([1-9]\\d*)', 'g') called
            join pg_catalog.pg_proc p on p.oid = called[1]::oid
            where p.provolatile = 'v')))
    union
    select r.ev_class
    from active
    join pg_catalog.pg_depend d
      on d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = active.oid
      and d.classid = 'pg_catalog.pg_rewrite'::regclass
    join pg_catalog.pg_rewrite r on r.oid = d.objid
    join pg_catalog.pg_class k on k.oid = r.ev_class and k.relkind = 'v'
  )
  select oid from active
)`;
