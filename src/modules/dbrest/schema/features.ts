/** What a server can do, and few requests ask for. */
export interface ServerFeatures {
  readonly timeZones: ReadonlySet<string>;
  /** Where PostGIS turns a row into a feature; absent without PostGIS. */
  readonly geoSchema?: string;
}

/** One text. */
export const FEATURES_SQL = `
select json_build_object(
  'timeZones', (select json_agg(z.name) from pg_catalog.pg_timezone_names z),
  'geoSchema', (
    select n.nspname
    from pg_catalog.pg_proc p
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where p.proname = 'st_asgeojson' and p.pronargs - p.pronargdefaults = 1
      and p.proargtypes[0] in ('pg_catalog.record'::regtype, 'pg_catalog.anyelement'::regtype)
    limit 1
  )
)::text`;

/** The row of `FEATURES_SQL`. */
export function readFeatures(json: string): ServerFeatures {
  const { timeZones, geoSchema } = JSON.parse(json) as { timeZones: string[]; geoSchema: string | null };
  return { timeZones: new Set(timeZones), ...(geoSchema !== null && { geoSchema }) };
}
