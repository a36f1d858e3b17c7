/** The entries of `DISCOVERY_SQL`. */
export interface DiscoveryEntries {
  readonly access: readonly [
    id: string,
    /** Bits of `pg_relation_is_updatable`: 4 update, 8 insert, 16 delete; 1: triggers or rules of a view do it. */
    writable: number,
    grants: readonly (readonly [grantee: string, letters: string])[],
    columnGrants: readonly (readonly [column: number, grantee: string, letters: string])[],
    isPartition: boolean,
  ];
  readonly shape: readonly [
    type: string,
    kind: 'e' | 'd' | 'c' | 'b',
    of: readonly string[] | string | readonly (readonly [name: string, type: string])[] | null,
    isNotNull: boolean,
    comment: string | null,
  ];
  readonly namespace: readonly [name: string, comment: string | null, users: readonly string[] | null];
}

/** A privilege by its letter in an access control list: insert, select, update, delete. */
export type Privilege = 'a' | 'r' | 'w' | 'd';

/** The operations that a relation supports, and its privileges. */
export interface Access {
  readonly insertable: boolean;
  readonly updatable: boolean;
  readonly deletable: boolean;
  /** Triggers or rules write instead of the view, so that columns without a base column may be written. */
  readonly isReplaced?: true;
  /** It is a partition, which descriptions do not list. */
  readonly isPartition: boolean;
  /** Privilege letters by the object id of the grantee; '0' is PUBLIC. */
  readonly grants: ReadonlyMap<string, string>;
  /** Privileges on single columns. */
  readonly columnGrants?: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** The structure of a user-defined type. */
export type TypeShape = { readonly comment?: string } & (
  | { readonly kind: 'enum'; readonly labels: readonly string[] }
  | { readonly kind: 'domain'; readonly base: string; readonly isNotNull: boolean }
  | { readonly kind: 'composite'; readonly fields: readonly (readonly [name: string, type: string])[] }
  /** Has a cast to JSON, which may produce any value. */
  | { readonly kind: 'json' }
);

/** A schema of the database. */
export interface Namespace {
  readonly comment?: string;
  /** Object ids of the roles that have the privilege USAGE. */
  readonly users: readonly string[];
}

const REPLACED = 1;
const UPDATE = 4;
const INSERT = 8;
const DELETE = 16;

/** Reads the entry of privileges. `names`: names of columns by attribute number. */
export function accessOf(
  [, writable, grants, columnGrants, isPartition]: DiscoveryEntries['access'],
  names: ReadonlyMap<number, string>,
): Access {
  const columns = new Map<string, Map<string, string>>();
  for (const [number, grantee, letters] of columnGrants) {
    const column = names.get(number) ?? '';
    columns.set(column, (columns.get(column) ?? new Map<string, string>()).set(grantee, letters));
  }
  return {
    insertable: (writable & INSERT) !== 0,
    updatable: (writable & UPDATE) !== 0,
    deletable: (writable & DELETE) !== 0,
    ...((writable & REPLACED) !== 0 && { isReplaced: true as const }),
    isPartition,
    grants: new Map(grants),
    ...(columns.size > 0 && { columnGrants: columns }),
  };
}

/** Reads the entry of a type. */
export function shapeOf([, kind, of, isNotNull, comment]: DiscoveryEntries['shape']): TypeShape {
  const noted = comment === null ? {} : { comment };
  switch (kind) {
    case 'e':
      return { ...noted, kind: 'enum', labels: (of ?? []) as readonly string[] };
    case 'd':
      return { ...noted, kind: 'domain', base: of as string, isNotNull };
    case 'c':
      return { ...noted, kind: 'composite', fields: (of ?? []) as readonly (readonly [string, string])[] };
    case 'b':
      return { ...noted, kind: 'json' };
  }
}

/** Reads the entry of a schema. */
export function namespaceOf([, comment, users]: DiscoveryEntries['namespace']): Namespace {
  return { users: users ?? [], ...(comment !== null && { comment }) };
}

/** Aggregates the privileges that requests need as letters; others are omitted. */
const LETTERS = `string_agg(distinct case e.privilege_type
  when 'SELECT' then 'r' when 'INSERT' then 'a' when 'UPDATE' then 'w' when 'DELETE' then 'd' else '' end, '')`;

/**
 * Sections for API descriptions, appended to `CATALOGUE_SQL` and using its `relations`: privileges (`access`),
 * structures of types (`shape`) and schemas (`namespace`).
 */
export const DISCOVERY_SQL = `
union all
select 'access', json_build_array(
  c.oid::text,
  case when c.relkind in ('r', 'p') then 28 else pg_catalog.pg_relation_is_updatable(c.oid, true) end
    | case when c.relkind = 'v' and (
      exists (select from pg_catalog.pg_trigger t where t.tgrelid = c.oid)
      or exists (select from pg_catalog.pg_rewrite r where r.ev_class = c.oid and r.ev_type <> '1')) then 1 else 0 end,
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
