import { groupedWrite, keylessElements, notLimitable, rangeByKey } from '../fault/index.ts';
import type { ReadQuery, SelectedEmbed, SelectItem, WriteQuery } from '../request/index.ts';
import type { Table } from '../schema/index.ts';
import type { Context, ReadNode } from './node.ts';
import { planRows } from './read.ts';
import { isOfGroup } from './sort.ts';
import {
  checkKey,
  type WriteSource,
  type WrittenColumn,
  type WrittenColumns,
  writtenColumns,
} from './written-columns.ts';

/** An update of the rows that the query finds. All get one row of values, or each the element of an array with its key. */
export interface UpdatePlan extends WrittenColumns {
  readonly kind: 'update';
  readonly table: Table;
  readonly rows: TouchedRows;
  /** The key by which an element finds its rows; it is not changed. Absent if one row of values holds for all rows. */
  readonly by?: readonly WrittenColumn[];
}

/** A delete of the rows that the query finds. */
export interface DeletePlan {
  readonly kind: 'delete';
  readonly table: Table;
  readonly rows: TouchedRows;
}

/** The rows that an update or a delete affects: those that a read with the same query returns. */
export interface TouchedRows {
  readonly node: ReadNode;
  /** The columns that identify a row, if the range selects only some of the matching rows. */
  readonly key?: readonly string[];
}

/** Plans a PATCH. Its body is one row of values for all rows, or an array whose elements have keys. Throws a `DbrestFault`. */
export function planUpdate(source: WriteSource, table: Table, context: Context): UpdatePlan {
  const rows = touchedRows(source.query.rows, table, context);
  const all = writtenColumns(source, table, context);
  const key = elementKey(source, table, context);
  if (!key) return { kind: 'update', table, rows, ...all };
  if (rows.key) throw rangeByKey();
  const isKey = ({ column }: WrittenColumn): boolean => key.includes(column.name);
  const columns = all.columns.filter((column) => !isKey(column));
  return { kind: 'update', table, rows, ...all, columns, by: all.columns.filter(isKey) };
}

/**
 * The columns by which each element of an array finds its rows: the primary key, or what `on_conflict` names. `undefined` if one row of
 * values holds for all rows. Throws DBREST105 and 42703.
 */
function elementKey(
  { query, body }: WriteSource,
  table: Table,
  context: Context,
): readonly string[] | undefined {
  const { onConflict } = query;
  if (body.kind !== 'array') return undefined;
  const key = onConflict ?? table.primaryKey;
  checkKey(key, table, context);
  const given = query.columns ?? body.keys;
  if (key.length > 0 && key.every((name) => given.includes(name))) return key;
  // The values of a single element can hold for all rows.
  if (body.isSeveral || (onConflict && given.length > 0)) throw keylessElements(table.name, key);
  return undefined;
}

/** Plans a DELETE. Throws a `DbrestFault`. */
export function planDelete({ rows }: WriteQuery, table: Table, context: Context): DeletePlan {
  return { kind: 'delete', table, rows: touchedRows(rows, table, context) };
}

/** Plans which rows a write affects. Throws PGRST127 for a range of rows that cannot be told apart. */
function touchedRows(request: ReadQuery, table: Table, context: Context): TouchedRows {
  const embeds = request.select.flatMap(embedsOnly);
  // An empty `select` would mean all columns; which columns are read does not matter here.
  const select: SelectItem[] = embeds.length > 0 ? embeds : [{ kind: 'all' }];
  // An order by aggregates is that of the shown rows.
  const order = request.order.filter((term) => !isOfGroup(term));
  const node = planRows({ ...request, select, order }, table, { ...context, maxRows: undefined });
  const isBounded = node.limit !== undefined || node.offset > 0;
  if (isBounded && order.length < request.order.length) throw groupedWrite();
  return isBounded ? { node, key: rowKey(table) } : { node };
}

/** Reduces `select` to its embeds, which can restrict the rows. */
function embedsOnly(item: SelectItem): SelectedEmbed[] {
  return item.kind === 'embed' ? [{ ...item, select: item.select.flatMap(embedsOnly) }] : [];
}

/** The columns that identify a row: its key, or its physical location. */
function rowKey({ primaryKey, kind, name }: Table): readonly string[] {
  if (primaryKey.length > 0) return primaryKey;
  if (kind !== 'r' && kind !== 'p') throw notLimitable(name);
  return ['tableoid', 'ctid'];
}
