import {
  mergesByAny,
  mergesByExclusion,
  nestsNothing,
  notByKey,
  otherKey,
  rangeOfPut,
} from '../fault/index.ts';
import { ANY_CONSTRAINT, type Logic, type Preferences } from '../request/index.ts';
import type { Column, Table, TableName } from '../schema/index.ts';
import { checkLeftOut, type InsertedRows, isEmptyMember, planNested } from './nested-insert.ts';
import type { Context } from './node.ts';
import {
  checkKey,
  type WriteSource,
  type WrittenColumn,
  type WrittenColumns,
  writtenColumns,
} from './written-columns.ts';

/** An insert: of a POST, which may be an upsert or have rows of other tables, or of a PUT. */
export interface InsertPlan extends WrittenColumns {
  readonly kind: 'insert';
  readonly table: Table;
  readonly conflict?: Conflict;
  /** The rows of the body, if rows of other tables are in them. */
  readonly nested?: InsertedRows;
  /** For PUT: the required value of each key column. */
  readonly keyValues?: readonly KeyValue[];
}

/** The value in the query for a column of the key; `read` is the function that converts it. */
interface KeyValue {
  readonly column: WrittenColumn;
  readonly value: string;
  readonly read?: TableName;
}

/** The treatment of rows that already exist. */
export interface Conflict {
  /** Empty: rows that are in conflict by any constraint. */
  readonly columns: readonly string[];
  /** The predicate of a partial unique index, as in the catalogue. */
  readonly predicate?: string;
  /** The exclusion constraint over the columns. */
  readonly constraint?: string;
  readonly action: 'merge' | 'ignore';
  /**
   * Present if the rows lack a column that an insert needs: PostgreSQL would refuse them before it looks for existing
   * rows. Rows that are found by these columns are updated; the others are refused.
   */
  readonly by?: readonly WrittenColumn[];
}

interface InsertSource extends WriteSource, Pick<Preferences, 'resolution'> {
  /** The response shows the rows. */
  readonly shows: boolean;
}

/** Plans a POST. Without a `resolution`, existing rows are errors. Throws a `DbrestFault`. */
export function planInsert(source: InsertSource, table: Table, context: Context): InsertPlan {
  const { query, resolution } = source;
  const nested = nestedOf(source, table, context);
  if (nested) {
    const { columns } = nested;
    return { kind: 'insert', table, form: source.body.kind, columns, defaults: false, nested };
  }
  const action = resolution === 'merge-duplicates' ? 'merge' : 'ignore';
  const all = writtenColumns(withoutEmpty(source, table, context), table, context);
  const conflict = resolution && conflictOf(query.onConflict, table, { action, context });
  const by = conflict && updatedBy(conflict, table, all.columns);
  return {
    kind: 'insert',
    table,
    ...all,
    ...(conflict && { conflict: { ...conflict, ...(by && { by }) } }),
  };
}

/** The rows of the body and those of other tables in it, if there are any. */
function nestedOf(
  { query: { columns }, body, resolution, shows, defaults }: InsertSource,
  table: Table,
  context: Context,
): InsertedRows | undefined {
  const { nested: members, keys } = body;
  if (!members || members.rows.size === 0) return undefined;
  if (columns) checkLeftOut(columns, { members, table, context });
  const rows = planNested({ path: [], keys: columns ?? keys, members }, table, context);
  const [first] = rows.nested;
  if (!first) return undefined;
  if (resolution) throw nestsNothing(first.member, 'An upsert writes rows of one table.');
  if (shows && table.primaryKey.length === 0)
    throw nestsNothing(first.member, `Without a primary key, rows of '${table.name}' cannot be shown.`);
  return { ...rows, defaults: defaults && columns !== undefined };
}

/** The source without members of relations that have no row. */
function withoutEmpty(source: InsertSource, table: Table, context: Context): InsertSource {
  const { query, body } = source;
  const { nested: members, keys } = body;
  if (!members) return source;
  const kept = (names: readonly string[]): readonly string[] =>
    names.filter((name) => !isEmptyMember(name, { members, table, context }));
  return {
    ...source,
    query: { ...query, ...(query.columns && { columns: kept(query.columns) }) },
    body: { ...body, keys: kept(keys) },
  };
}

/** The columns by which existing rows are found and updated, if no row of the body can be inserted. */
function updatedBy(
  { action, columns, predicate }: Conflict,
  table: Table,
  written: readonly WrittenColumn[],
): readonly WrittenColumn[] | undefined {
  const isWritten = (name: string): boolean => written.some(({ column }) => column.name === name);
  const isPlain = table.kind === 'r' && !table.completesRows && predicate === undefined;
  if (action === 'ignore' || !isPlain || !columns.every(isWritten)) return undefined;
  const lacksColumn = Array.from(table.columns.values()).some(
    (column) => isRequired(column) && !isWritten(column.name),
  );
  return lacksColumn ? written.filter(({ column }) => columns.includes(column.name)) : undefined;
}

function isRequired({ isNotNull, defaultSql, identity, isGenerated }: Column): boolean {
  return isNotNull === true && defaultSql === undefined && identity === undefined && !isGenerated;
}

/** `isNew`: an existing row is left unchanged. */
interface PutSource extends WriteSource {
  readonly isNew: boolean;
}

/** Plans a PUT, which writes the row whose key is in the query. Throws PGRST105, PGRST114, PGRST115 and others. */
export function planPut({ isNew, ...source }: PutSource, table: Table, context: Context): InsertPlan {
  const { filters, limit, offset } = source.query.rows;
  if (limit !== undefined || offset > 0) throw rangeOfPut();
  const values = new Map(filters.map(keyValue));
  const { primaryKey } = table;
  const isWhole = primaryKey.length > 0 && primaryKey.every((name) => values.has(name));
  if (!isWhole || filters.length !== primaryKey.length) throw notByKey();
  const { columns, ...rest } = writtenColumns(source, table, context);
  const action = isNew ? 'ignore' : 'merge';
  const keyValues = primaryKey.map((name) => {
    const column = columns.find((written) => written.column.name === name);
    // Without its key the row cannot match the query.
    if (!column) throw otherKey();
    const read = context.known.representations?.get(column.column.type)?.read;
    return { column, value: values.get(name) as string, ...(read && { read }) };
  });
  const conflict = { columns: primaryKey, action } as const;
  return { kind: 'insert', table, columns, ...rest, keyValues, conflict };
}

/** Reads `column=eq.value`; throws PGRST105 for any other filter. */
function keyValue(filter: Logic): readonly [column: string, value: string] {
  const isPlain =
    filter.kind === 'filter' && filter.operator === 'eq' && !filter.negated && !filter.quantifier;
  if (!isPlain || filter.path || filter.operand.kind !== 'text') throw notByKey();
  return [filter.column, filter.operand.text];
}

function conflictOf(
  named: readonly string[] | undefined,
  table: Table,
  { action, context }: { readonly action: Conflict['action']; readonly context: Context },
): Conflict | undefined {
  const columns = named ?? table.primaryKey;
  if (columns.length === 0) return undefined;
  if (columns.length === 1 && columns[0] === ANY_CONSTRAINT && !table.columns.has(ANY_CONSTRAINT)) {
    if (action === 'merge') throw mergesByAny();
    return { columns: [], action };
  }
  checkKey(columns, table, context);
  const fitting = table.uniqueIndexes?.filter((index) => hasSameNames(index.columns, columns)) ?? [];
  const exclusion = table.exclusions?.find((one) => hasSameNames(one.columns, columns));
  if (exclusion && fitting.length === 0) {
    if (action === 'merge') throw mergesByExclusion(exclusion.name);
    return { columns, constraint: exclusion.name, action };
  }
  const isWhole = fitting.length === 0 || fitting.some(({ predicate }) => predicate === undefined);
  const predicate = isWhole ? undefined : fitting[0]?.predicate;
  return { columns, action, ...(predicate !== undefined && { predicate }) };
}

function hasSameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name) => b.includes(name));
}
