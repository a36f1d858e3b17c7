import type { CatalogueEntries } from './entries.ts';
import type { RelationDrafts } from './relation-draft.ts';
import type { FunctionResult, Isolation, MediaHandler, StoredFunction } from './schema.ts';

/**
 * Part of `CATALOGUE_SQL`: callable functions and media handlers. A function with unnamed arguments is omitted unless
 * it takes a whole body.
 */
export const FUNCTIONS_SQL = `
(
  with recursive domains(oid, base) as (
    select t.oid, t.typbasetype from pg_catalog.pg_type t where t.typtype = 'd'
    union all
    select d.oid, t.typbasetype from domains d join pg_catalog.pg_type t on t.oid = d.base where t.typtype = 'd'
  ),
  bases as (
    select d.oid, t.oid as base, t.typtype, t.typrelid
    from domains d join pg_catalog.pg_type t on t.oid = d.base where t.typtype <> 'd'
  ),
  functions as (
    select p.*, n.nspname
    from pg_catalog.pg_proc p
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where p.prokind in ('f', 'p')
      and n.nspname <> 'information_schema' and n.nspname !~ '^pg_(catalog|toast|temp_|toast_temp_)'
      and p.prorettype <> all (array['trigger', 'event_trigger', 'internal', 'cstring', 'language_handler', 'fdw_handler',
        'index_am_handler', 'table_am_handler', 'tsm_handler']::pg_catalog.regtype[])
      and not p.proargtypes::oid[] && array['internal', 'cstring']::pg_catalog.regtype[]::oid[]
  ),
  arguments as (
    select f.oid,
      json_agg(json_build_array(coalesce(a.name, ''), pg_catalog.format_type(a.type, null)) order by a.number)
        filter (where a.mode in ('i', 'b', 'v')) as ins,
      json_agg(json_build_array(coalesce(a.name, ''), pg_catalog.format_type(a.type, null)) order by a.number)
        filter (where a.mode in ('o', 'b', 't')) as outs,
      count(*) filter (where a.mode in ('i', 'b', 'v') and coalesce(a.name, '') = '') as unnamed,
      bool_or(coalesce(b.base, a.type)
        in ('json'::regtype, 'jsonb'::regtype, 'text'::regtype, 'xml'::regtype, 'bytea'::regtype)) as takes_body
    from functions f
    cross join lateral (
      select u.type, coalesce(u.mode, 'i') as mode, u.name, u.number
      from unnest(coalesce(f.proallargtypes, f.proargtypes::oid[]), f.proargmodes, f.proargnames)
        with ordinality as u(type, mode, name, number)
      where u.type is not null
    ) a
    left join bases b on b.oid = a.type
    group by f.oid
  )
  select 'function', json_build_array(
    f.nspname, f.proname, f.prokind, f.provolatile, f.proretset, pg_catalog.format_type(f.prorettype, null),
    relation.oid::text,
    case when a.outs is not null then a.outs when returned.typtype = 'c' and relation.oid is null then (
      select json_agg(json_build_array(c.attname, pg_catalog.format_type(c.atttypid, c.atttypmod)) order by c.attnum)
      from pg_catalog.pg_attribute c where c.attrelid = returned.typrelid and c.attnum > 0 and not c.attisdropped) end,
    case when own.typtype = 'd' and own.typname ~ '^([A-Za-z0-9.-]+/[A-Za-z0-9.+-]+|[*]/[*])$' then own.typname end,
    coalesce(a.ins, '[]'), f.pronargdefaults, f.provariadic <> 0,
    (select substring(s from '=(.*)$') from unnest(f.proconfig) s where s like 'statement_timeout=%'),
    (select substring(s from '=(.*)$') from unnest(f.proconfig) s where s like 'default_transaction_isolation=%'),
    (select coalesce(json_agg(distinct e.grantee::text), '[]')
      from pg_catalog.aclexplode(coalesce(f.proacl, pg_catalog.acldefault('f', f.proowner))) e),
    d.description, f.prorows = 1)::text
  from functions f
  join pg_catalog.pg_type own on own.oid = f.prorettype
  left join bases b on b.oid = own.oid
  join pg_catalog.pg_type returned on returned.oid = coalesce(b.base, own.oid)
  left join relations relation on relation.reltype = returned.oid
  left join arguments a on a.oid = f.oid
  left join pg_catalog.pg_description d on d.classoid = 'pg_catalog.pg_proc'::regclass and d.objoid = f.oid
  where coalesce(a.unnamed, 0) = 0 or (a.unnamed = 1 and f.pronargs = 1 and a.takes_body)
  order by f.oid
)
union all
(
  select 'mediaHandler', json_build_array(n.nspname, p.proname, t.typname, argument.oid::text)::text
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  join pg_catalog.pg_type t on t.oid = p.prorettype and t.typtype = 'd'
  left join relations argument on argument.reltype = p.proargtypes[0]
  where p.prokind = 'a' and p.pronargs = 1 and t.typname ~ '^([A-Za-z0-9.-]+/[A-Za-z0-9.+-]+|[*]/[*])$'
    and (argument.oid is not null or p.proargtypes[0] = 'anyelement'::regtype)
  order by p.oid
)`;

/**
 * Returns a text that changes when a table, column, type, function or key is made, changed or removed. It costs a small
 * part of a read of the catalogue.
 */
export const STATE_SQL = `select pg_catalog.concat_ws(' ', ${[
  'pg_namespace',
  'pg_class',
  'pg_attribute',
  'pg_type',
  'pg_proc',
  'pg_constraint',
  'pg_cast',
  'pg_ts_config',
]
  .map(
    (name) =>
      `(select pg_catalog.count(*) || ':' || pg_catalog.max(xmin::text::bigint) from pg_catalog.${name})`,
  )
  .join(', ')})`;

/** Returns the schema of PostGIS, or null. */
export const FEATURES_SQL = `
select (
  select n.nspname
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where p.proname = 'st_asgeojson' and p.pronargs - p.pronargdefaults = 1
    and p.proargtypes[0] in ('pg_catalog.record'::regtype, 'pg_catalog.anyelement'::regtype)
  limit 1
)`;

const UNITS_MS: Readonly<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Parses a duration setting of PostgreSQL: `50ms`, `1.5 min`; without a unit it is in milliseconds. */
export function durationMs(text: string): number | undefined {
  const [, amount, unit = 'ms'] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]+)?\s*$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  return amount === undefined || unitMs === undefined ? undefined : Math.round(Number(amount) * unitMs);
}

const ISOLATIONS: readonly Isolation[] = [
  'serializable',
  'repeatable read',
  'read committed',
  'read uncommitted',
];

/** Reads a value of `default_transaction_isolation`, which PostgreSQL takes in any case. */
export function isolationOf(text: string | null): Isolation | undefined {
  const level = text?.toLowerCase();
  return ISOLATIONS.find((one) => one === level);
}

const VOLATILITY = { v: 'volatile', s: 'stable', i: 'immutable' } as const;

/** Reads the entry of a function. */
export function storedFunctionOf(
  entry: CatalogueEntries['function'],
  relations: RelationDrafts,
): StoredFunction {
  const [schema, name, kind, volatility, returnsSet, , , , mediaType, ...rest] = entry;
  const [ins, defaults, isVariadic, timeout, isolationLevel, grantees, comment, isOneRow] = rest;
  const timeoutMs = timeout === null ? undefined : durationMs(timeout);
  const isolation = isolationOf(isolationLevel);
  return {
    schema,
    name,
    isProcedure: kind === 'p',
    arguments: ins.map(([argument, type], i) => ({
      name: argument,
      type,
      required: i < ins.length - defaults,
      variadic: isVariadic && i === ins.length - 1,
    })),
    returns: returnedOf(entry, relations),
    returnsSet,
    ...(returnsSet && isOneRow && { isOneRow }),
    volatility: VOLATILITY[volatility],
    ...(mediaType !== null && !returnsSet && { mediaType }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(isolation && { isolation }),
    grantees,
    ...(comment !== null && { comment }),
  };
}

function returnedOf(entry: CatalogueEntries['function'], relations: RelationDrafts): FunctionResult {
  const [, , , , , type, relation, columns] = entry;
  const table = relation === null ? undefined : relations.get(relation)?.name;
  if (table) return { kind: 'table', table };
  if (columns) {
    const row = columns.map(([name, of]) => ({ name, type: of }));
    return { kind: 'columns', columns: row, ...(type !== 'record' && { type }) };
  }
  return type === 'void' ? { kind: 'void' } : { kind: 'scalar', type };
}

/** Reads the entry of a media handler. */
export function mediaHandlerOf(
  [schema, name, mediaType, argument]: CatalogueEntries['mediaHandler'],
  relations: RelationDrafts,
): MediaHandler {
  const table = argument === null ? undefined : relations.get(argument)?.name;
  return { schema, name, mediaType, ...(table && { table }) };
}
