import type { CatalogueEntries } from './catalogue-entries.ts';
import type { Catalogue } from './catalogue-text.ts';
import { readEntries } from './catalogue-text.ts';
import type { BaseColumns, Column, ForeignKey, RowFunction, Schema, Table, TableName } from './types.ts';

/** A relation while its parts are put together. */
interface Relation {
  readonly name: TableName;
  readonly columns: ReadonlyMap<number, Column>;
  readonly keys: readonly (readonly [kind: 'p' | 'u', columns: readonly string[]])[];
  readonly view: CatalogueEntries['view'][1] | undefined;
  readonly functions: RowFunction[];
}

/** PUBLIC, in access control lists. */
const EVERYBODY = '0';
/** Views on views: PostgreSQL has no limit, a definition in a circle cannot be made. */
const DEEPEST_VIEW = 50;

/** A catalogue as a schema, put together in many small steps. */
export function* schemaOf(catalogue: Catalogue): Generator<undefined, Schema> {
  const entries = yield* readEntries(catalogue);
  const views = new Map(entries.view);
  const relations = new Map<string, Relation>();
  for (const entry of entries.table) {
    relations.set(entry[0], relationOf(entry, views.get(entry[0])));
    yield;
  }
  for (const entry of entries.rowFunction) addRowFunction(entry, relations);
  const tables = new Map<string, Map<string, Table>>();
  for (const entry of entries.table) {
    const [, schema, name] = entry;
    const siblings = tables.get(schema) ?? new Map<string, Table>();
    tables.set(schema, siblings.set(name, tableOf(entry, relations)));
    yield;
  }
  const foreignKeys: ForeignKey[] = [];
  for (const entry of entries.foreignKey) {
    foreignKeys.push(...foreignKeyOf(entry, relations));
    yield;
  }
  return {
    tables,
    foreignKeys,
    types: entries.type.map(([schema, name]) => ({ schema, name })),
    textSearchConfigs: new Set(entries.textSearchConfig),
    roles: new Map(entries.role.map(roleOf)),
  };
}

function roleOf([name, isSuperuser, privilegesOf]: CatalogueEntries['role']) {
  return [name, isSuperuser ? ('all' as const) : new Set([EVERYBODY, ...privilegesOf])] as const;
}

function addRowFunction(
  [table, schema, name, type, returnsSet, rows, returned]: CatalogueEntries['rowFunction'],
  relations: Relations,
): void {
  const returns = returned === null ? undefined : relations.get(returned)?.name;
  const single = !returnsSet || rows === 1;
  relations
    .get(table)
    ?.functions.push({ schema, name, type, returnsSet, single, ...(returns && { returns }) });
}

function relationOf(
  [, schema, name, , columns, keys]: CatalogueEntries['table'],
  view: Relation['view'],
): Relation {
  const byNumber = new Map(
    columns.map(([number, column, type, comment]) => [
      number,
      { name: column, type, ...(comment !== null && { comment }) },
    ]),
  );
  return {
    name: { schema, name },
    columns: byNumber,
    keys: keys.map(([kind, numbers]) => [kind, numbers.map((number) => byNumber.get(number)?.name ?? '')]),
    view,
    functions: [],
  };
}

function tableOf(
  [id, schema, name, kind, , , grantees, comment]: CatalogueEntries['table'],
  relations: Relations,
): Table {
  const { columns, functions, view, ...relation } = relations.get(id) as Relation;
  const keys = (wanted: 'p' | 'u') => relation.keys.flatMap(([is, key]) => (is === wanted ? [key] : []));
  const bases = view ? basesOf(id, relations) : undefined;
  return {
    schema,
    name,
    columns: new Map(Array.from(columns.values(), (column) => [column.name, column])),
    primaryKey: keys('p')[0] ?? (bases && viewKey(bases, relations)) ?? [],
    uniques: keys('u'),
    grantees,
    ...(comment !== null && { comment }),
    isView: kind === 'v' || kind === 'm',
    bases: bases ?? [{ base: id, columns: identity(columns) }],
    functions,
  };
}

type Relations = ReadonlyMap<string, Relation>;

function identity(columns: Relation['columns']): BaseColumns['columns'] {
  return new Map(Array.from(columns.values(), ({ name }) => [name, [name]]));
}

/** What a view shows of tables, seen through the views below it. */
function basesOf(id: string, relations: Relations): BaseColumns[] {
  const found = new Map<string, Map<string, string[]>>();
  const { columns, view = [] } = relations.get(id) as Relation;
  for (const [number, table, column] of view) {
    const shown = columns.get(number)?.name;
    const origin = originOf(table, column, relations);
    if (shown === undefined || !origin) continue;
    const byBase = found.get(origin.table) ?? new Map<string, string[]>();
    found.set(origin.table, byBase);
    byBase.set(origin.column, [...(byBase.get(origin.column) ?? []), shown]);
  }
  return Array.from(found, ([base, names]) => ({ base, columns: names }));
}

function originOf(
  table: string,
  column: number,
  relations: Relations,
): { table: string; column: string } | undefined {
  let at: { table: string; column: number } | undefined = { table, column };
  for (let depth = 0; at && depth < DEEPEST_VIEW; depth += 1) {
    const relation = relations.get(at.table);
    if (!relation?.view) {
      const name = relation?.columns.get(at.column)?.name;
      return name === undefined ? undefined : { table: at.table, column: name };
    }
    at = columnOf(relation.view, at.column);
  }
  return undefined;
}

function columnOf(
  view: CatalogueEntries['view'][1],
  wanted: number,
): { table: string; column: number } | undefined {
  const found = view.find(([number]) => number === wanted);
  return found && { table: found[1], column: found[2] };
}

function viewKey(bases: readonly BaseColumns[], relations: Relations): readonly string[] | undefined {
  for (const { base, columns } of bases) {
    const key = relations.get(base)?.keys.find(([kind]) => kind === 'p')?.[1];
    const shown = key?.flatMap((name) => columns.get(name)?.slice(0, 1) ?? []);
    if (shown && shown.length === key?.length) return shown;
  }
  return undefined;
}

function foreignKeyOf(
  [name, table, target, columns, targetColumns]: CatalogueEntries['foreignKey'],
  relations: Relations,
): ForeignKey[] {
  const from = relations.get(table);
  const to = relations.get(target);
  if (!from || !to) return [];
  const pairs = columns.map((number, i) => {
    return [from.columns.get(number)?.name ?? '', to.columns.get(targetColumns[i] ?? 0)?.name ?? ''] as const;
  });
  const own = new Set(pairs.map(([column]) => column));
  const unique = from.keys.some(
    ([, key]) => key.length === own.size && key.every((column) => own.has(column)),
  );
  return [{ name, table, target, pairs, unique }];
}
