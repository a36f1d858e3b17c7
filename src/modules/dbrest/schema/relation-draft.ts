import type { CatalogueEntries } from './entries.ts';
import type { Access } from './discovery.ts';
import type {
  BaseColumns,
  Column,
  Exclusion,
  Followed,
  RowFunction,
  Table,
  TableName,
  UniqueIndex,
} from './schema.ts';

/** The trigger that announces changes of rows; each one has the name of the channel. */
export const CHANGES_TRIGGER = 'gw_changes';

/** A table or view while the schema is being built. */
export interface RelationDraft {
  readonly id: string;
  readonly name: TableName;
  readonly kind: CatalogueEntries['table'][3];
  readonly columns: ReadonlyMap<string, Column>;
  /** By attribute number. */
  readonly columnNames: ReadonlyMap<number, string>;
  readonly primaryKey: readonly string[] | undefined;
  readonly uniques: readonly (readonly string[])[];
  readonly grantees: readonly string[];
  readonly comment: string | null;
  readonly functions: RowFunction[];
  isInert?: true;
  inertWrites?: NonNullable<Table['inertWrites']>;
  /** Its triggers announce changes. */
  announces?: true;
  access?: Access;
  facts?: WriteFacts;
  /** For a view: the origins of its columns. */
  shown?: CatalogueEntries['view'][1];
}

/** Properties of a relation that writes depend on. */
interface WriteFacts {
  /** By attribute number. */
  readonly columns: ReadonlyMap<number, Omit<Column, 'name' | 'type'>>;
  readonly uniqueIndexes: readonly UniqueIndex[];
  readonly exclusions: readonly Exclusion[];
  readonly completesRows: boolean;
}

/** By object id. */
export type RelationDrafts = ReadonlyMap<string, RelationDraft>;

/** Reads the entry of a table or view. */
export function relationDraftOf(entry: CatalogueEntries['table']): RelationDraft {
  const [id, schema, name, kind, columns, keys, grantees, comment] = entry;
  const columnNames = new Map(columns.map(([number, column]) => [number, column]));
  const keysOf = (wanted: 'p' | 'u') =>
    keys.flatMap(([is, numbers]) => (is === wanted ? [namesOf(numbers, columnNames)] : []));
  return {
    id,
    name: { schema, name },
    kind,
    columns: new Map(columns.map(([, column, type, note]) => [column, columnOf(column, type, note)])),
    columnNames,
    primaryKey: keysOf('p')[0],
    uniques: keysOf('u'),
    grantees,
    comment,
    functions: [],
  };
}

function columnOf(name: string, type: string, comment: string | null): Column {
  return comment === null ? { name, type } : { name, type, comment };
}

/** The names of columns given by attribute number. */
export function namesOf(numbers: readonly number[], names: RelationDraft['columnNames']): string[] {
  return numbers.map((number) => names.get(number) ?? '');
}

/** Bound for views on views. PostgreSQL has no limit, but definitions cannot be circular. */
const DEEPEST_VIEW = 50;

/** The columns of base tables that a view selects, through nested views. */
export function basesOf(
  { columnNames, shown = [] }: RelationDraft,
  relations: RelationDrafts,
): BaseColumns[] {
  const found = new Map<string, Map<string, string[]>>();
  for (const [number, table, column] of shown) {
    const name = columnNames.get(number);
    const origin = baseColumnOf(table, column, relations);
    if (name === undefined || !origin) continue;
    const byBase = found.get(origin.table) ?? new Map<string, string[]>();
    found.set(origin.table, byBase);
    byBase.set(origin.column, [...(byBase.get(origin.column) ?? []), name]);
  }
  return Array.from(found, ([base, names]) => ({ base, columns: names }));
}

/** A column of a base table. */
interface BaseColumn {
  /** Object id. */
  readonly table: string;
  readonly column: string;
  readonly number: number;
}

/** Resolves a column of a relation to a column of a base table, through nested views. */
function baseColumnOf(table: string, column: number, relations: RelationDrafts): BaseColumn | undefined {
  let at: { table: string; column: number } | undefined = { table, column };
  for (let depth = 0; at && depth < DEEPEST_VIEW; depth += 1) {
    const relation = relations.get(at.table);
    if (!relation?.shown) {
      const name = relation?.columnNames.get(at.column);
      return name === undefined ? undefined : { table: at.table, column: name, number: at.column };
    }
    at = shownBy(relation.shown, at.column);
  }
  return undefined;
}

function shownBy(
  columns: CatalogueEntries['view'][1],
  wanted: number,
): { table: string; column: number } | undefined {
  const found = columns.find(([number]) => number === wanted);
  return found && { table: found[1], column: found[2] };
}

/**
 * The columns that identify a row of a view: the primary keys of its base tables, without those of which it does not
 * select all columns.
 */
export function viewKey(bases: readonly BaseColumns[], relations: RelationDrafts): readonly string[] {
  const keys = bases.flatMap(({ base, columns }) => {
    const key = relations.get(base)?.primaryKey ?? [];
    const shown = key.flatMap((name) => columns?.get(name)?.slice(0, 1) ?? []);
    return shown.length === key.length ? shown : [];
  });
  return [...new Set(keys)];
}

/**
 * The announcement of changes of a relation: that of its first base that has one and whose whole key it selects.
 */
export function followedOf(
  { columns }: Pick<RelationDraft, 'columns'>,
  bases: readonly BaseColumns[],
  relations: RelationDrafts,
): Followed | undefined {
  for (const { base, columns: shown } of bases) {
    const table = relations.get(base);
    if (!table?.announces || !table.primaryKey) continue;
    const key = table.primaryKey.flatMap((announced) => {
      const own = shown ? shown.get(announced)?.[0] : announced;
      const type = own === undefined ? undefined : columns.get(own)?.type;
      return own === undefined || type === undefined ? [] : [{ announced, own, type }];
    });
    if (key.length === table.primaryKey.length) return { by: `${table.name.schema}.${table.name.name}`, key };
  }
  return undefined;
}

/**
 * The section `announcing`, appended to `CATALOGUE_SQL` and using its `relations`: tables with the triggers of
 * `gw db setup --watch`. Their arguments are the columns of the key, which must still be the primary key.
 */
export const ANNOUNCING_SQL = `
union all
select distinct 'announcing', to_json(c.oid::text)::text
from relations c
join pg_catalog.pg_trigger t on t.tgrelid = c.oid and t.tgname = '${CHANGES_TRIGGER}' and t.tgenabled <> 'D'
join pg_catalog.pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
where t.tgargs = (
  select pg_catalog.string_agg(
    pg_catalog.convert_to(a.attname::text, pg_catalog.getdatabaseencoding()) || '\\x00'::bytea, ''::bytea order by p.position)
  from pg_catalog.unnest(k.conkey) with ordinality p (number, position)
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = p.number)`;

/**
 * The section `writing`, appended to `CATALOGUE_SQL` and using its `relations`: nullability, identity and defaults of
 * columns that have any, unique indexes and exclusion constraints over plain columns, and whether a trigger before an
 * insert, of a table or of a part of it, or a rule can complete its rows.
 */
export const WRITE_FACTS_SQL = `
union all
select 'writing', json_build_array(
  c.oid::text, coalesce(facts.columns, '[]'), coalesce(indexes.list, '[]'), coalesce(exclusions.list, '[]'),
  k.relhasrules or exists (
    select from pg_catalog.pg_trigger t
    where t.tgtype & 7 = 7 and (
      t.tgrelid = c.oid or t.tgrelid in (select p.relid from pg_catalog.pg_partition_tree(c.oid) p where c.relkind = 'p'))))::text
from relations c
join pg_catalog.pg_class k on k.oid = c.oid
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
left join (
  select x.conrelid, json_agg(json_build_array(x.conname, x.conkey) order by x.conname) as list
  from pg_catalog.pg_constraint x
  where x.contype = 'x' and not x.condeferrable and 0 <> all (x.conkey)
  group by x.conrelid
) exclusions on exclusions.conrelid = c.oid
where facts.columns is not null or indexes.list is not null or exclusions.list is not null`;

/** Reads an entry of `writing`. `names`: names of columns by attribute number. */
export function writeFactsOf(
  [, columns, indexes, exclusions, completesRows]: CatalogueEntries['writing'],
  names: ReadonlyMap<number, string>,
): WriteFacts {
  return {
    columns: new Map(columns.map(([number, ...facts]) => [number, columnFacts(facts)])),
    uniqueIndexes: indexes.map(([numbers, predicate]) => ({
      columns: namesOf(numbers, names),
      ...(predicate !== null && { predicate }),
    })),
    exclusions: exclusions.map(([name, numbers]) => ({ name, columns: namesOf(numbers, names) })),
    completesRows,
  };
}

type ColumnEntry = CatalogueEntries['writing'][1][number] extends readonly [number, ...infer Facts]
  ? Facts
  : never;

function columnFacts([isNotNull, identity, isGenerated, defaultSql]: ColumnEntry): Partial<Column> {
  return {
    ...(isNotNull && { isNotNull }),
    ...(identity !== '' && { identity: identity === 'a' ? ('always' as const) : ('by default' as const) }),
    ...(isGenerated && { isGenerated }),
    ...(defaultSql !== null && { defaultSql }),
  };
}

/** The columns of a relation with defaults and the like; a column of a view has the default of its base column. */
export function columnsWithFacts(
  relation: RelationDraft,
  relations: RelationDrafts,
): ReadonlyMap<string, Column> {
  const { columns, columnNames, facts, shown } = relation;
  if (!facts && !shown) return columns;
  const known = new Map(columns);
  for (const [number, name] of columnNames) {
    const own = facts?.columns.get(number);
    const defaultSql = own?.defaultSql ?? (shown && baseDefault(shown, number, relations));
    if (!own && defaultSql === undefined) continue;
    known.set(name, {
      ...(columns.get(name) as Column),
      ...own,
      ...(defaultSql !== undefined && { defaultSql }),
    });
  }
  return known;
}

function baseDefault(
  shown: NonNullable<RelationDraft['shown']>,
  wanted: number,
  relations: RelationDrafts,
): string | undefined {
  const found = shown.find(([number]) => number === wanted);
  const origin = found && baseColumnOf(found[1], found[2], relations);
  return origin && relations.get(origin.table)?.facts?.columns.get(origin.number)?.defaultSql;
}
