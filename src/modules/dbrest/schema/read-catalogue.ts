import type { BaseColumns, Column, ForeignKey, RowFunction, Schema, Table, TableName } from './types.ts';
import type { ViewColumn } from './view-columns.ts';
import { viewColumns } from './view-columns.ts';

type TableRow = readonly [
  id: string,
  schema: string,
  name: string,
  columns: readonly (readonly [number: number, name: string, type: string, comment: string | null])[],
  keys: readonly (readonly [kind: 'p' | 'u', columns: readonly number[]])[],
  grantees: readonly string[],
  comment: string | null,
  viewTree: string | null,
];

interface CatalogueRow {
  readonly tables: readonly TableRow[];
  readonly foreignKeys: readonly (readonly [
    name: string,
    table: string,
    target: string,
    columns: readonly number[],
    targetColumns: readonly number[],
  ])[];
  readonly rowFunctions: readonly (readonly [
    table: string,
    schema: string,
    name: string,
    type: string,
    returnsSet: boolean,
    rows: number,
    returns: string | null,
  ])[];
  readonly types: readonly (readonly [schema: string, name: string])[];
  readonly textSearchConfigs: readonly string[];
  readonly roles: readonly (readonly [name: string, isSuperuser: boolean, privilegesOf: readonly string[]])[];
}

/** A relation while its parts are put together. */
interface Relation {
  readonly name: TableName;
  readonly columns: ReadonlyMap<number, Column>;
  readonly keys: readonly (readonly [kind: 'p' | 'u', columns: readonly string[]])[];
  readonly view: readonly ViewColumn[] | undefined;
  readonly functions: RowFunction[];
}

/** PUBLIC, in access control lists. */
const EVERYBODY = '0';
/** Views on views: PostgreSQL has no limit, a definition in a circle cannot be made. */
const DEEPEST_VIEW = 50;

/** The row of `CATALOGUE_SQL` as a schema. */
export function readCatalogue(json: string): Schema {
  const row = JSON.parse(json) as CatalogueRow;
  const relations = new Map(row.tables.map((table) => [table[0], relationOf(table)] as const));
  for (const [table, schema, name, type, returnsSet, rows, returned] of row.rowFunctions) {
    const returns = returned === null ? undefined : relations.get(returned)?.name;
    const single = !returnsSet || rows === 1;
    relations
      .get(table)
      ?.functions.push({ schema, name, type, returnsSet, single, ...(returns && { returns }) });
  }
  const tables = new Map<string, Map<string, Table>>();
  for (const entry of row.tables) {
    const siblings = tables.get(entry[1]) ?? new Map<string, Table>();
    tables.set(entry[1], siblings.set(entry[2], tableOf(entry, relations)));
  }
  const roles = row.roles.map(([name, isSuperuser, privilegesOf]) => {
    return [name, isSuperuser ? 'all' : new Set([EVERYBODY, ...privilegesOf])] as const;
  });
  return {
    tables,
    foreignKeys: row.foreignKeys.flatMap((key) => foreignKeyOf(key, relations) ?? []),
    types: row.types.map(([schema, name]) => ({ schema, name })),
    textSearchConfigs: new Set(row.textSearchConfigs),
    roles: new Map(roles),
  };
}

function relationOf([, schema, name, columns, keys, , , tree]: TableRow): Relation {
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
    view: tree === null ? undefined : viewColumns(tree),
    functions: [],
  };
}

function tableOf([id, schema, name, , , grantees, comment, tree]: TableRow, relations: Relations): Table {
  const { columns, keys, functions, view } = relations.get(id) as Relation;
  const bases = view ? basesOf(id, relations) : undefined;
  const primaryKey = keys.find(([kind]) => kind === 'p')?.[1] ?? (bases && viewKey(bases, relations)) ?? [];
  return {
    schema,
    name,
    columns: new Map(Array.from(columns.values(), (column) => [column.name, column])),
    primaryKey,
    uniques: keys.filter(([kind]) => kind === 'u').map(([, unique]) => unique),
    grantees,
    ...(comment !== null && { comment }),
    isView: tree !== null,
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
  for (const { number, table, column } of view) {
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
    const { table: id, column: number }: { table: string; column: number } = at;
    const relation = relations.get(id);
    if (!relation) return undefined;
    if (!relation.view) {
      const name = relation.columns.get(number)?.name;
      return name === undefined ? undefined : { table: id, column: name };
    }
    at = relation.view.find((shown) => shown.number === number);
  }
  return undefined;
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
  [name, table, target, columns, targetColumns]: CatalogueRow['foreignKeys'][number],
  relations: Relations,
): ForeignKey | undefined {
  const from = relations.get(table);
  const to = relations.get(target);
  if (!from || !to) return undefined;
  const pairs = columns.map((number, i) => {
    return [from.columns.get(number)?.name ?? '', to.columns.get(targetColumns[i] ?? 0)?.name ?? ''] as const;
  });
  const own = new Set(pairs.map(([column]) => column));
  const unique = from.keys.some(
    ([, key]) => key.length === own.size && key.every((column) => own.has(column)),
  );
  return { name, table, target, pairs, unique };
}
