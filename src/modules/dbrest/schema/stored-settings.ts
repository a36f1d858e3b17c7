/** A setting that `alter role` has given to the role that gw logs in with. */
export interface StoredSetting {
  /** `pgrst.db_schemas` in lower case, or `app.settings.name` as it was written. */
  readonly name: string;
  /** `null`: too long. */
  readonly value: string | null;
}

/** A set of keys has some kilobytes. */
const LONGEST_VALUE_BYTES = 65_536;

/**
 * Settings of the login role that configure gw, those for this database before those for all. They are read from the
 * catalogue: a session would know those of its start alone.
 */
export const SETTINGS_SQL = `
union all
(
  select 'setting', json_build_array(
    s.name, case when pg_catalog.octet_length(s.value) <= ${LONGEST_VALUE_BYTES} then s.value end)::text
  from (
    select distinct on (given.name) given.name, given.value
    from pg_catalog.pg_db_role_setting r
    cross join pg_catalog.unnest(r.setconfig) c
    cross join lateral (select pg_catalog.split_part(c, '=', 1) as written) w
    cross join lateral (
      select
        case when pg_catalog.lower(w.written) like 'pgrst.%' then pg_catalog.lower(w.written) else w.written end as name,
        pg_catalog.substr(c, pg_catalog.strpos(c, '=') + 1) as value
    ) given
    where r.setrole = (select a.oid from pg_catalog.pg_roles a where a.rolname = session_user)
      and (r.setdatabase = 0 or r.setdatabase = (
        select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()))
      and (given.name like 'pgrst.%' or given.name like 'app.settings.%')
    order by given.name, r.setdatabase desc
  ) s
  order by s.name
)`;
