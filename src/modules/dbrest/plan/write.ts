import {
  noColumn,
  noTable,
  notByKey,
  notLimitable,
  noWrittenColumn,
  otherKey,
  rangeOfPut,
} from '../fault/index.ts';
import type { Logic, ReadRequest, SelectedEmbed, SelectItem, WriteQuery } from '../request/index.ts';
import { type Column, type Schema, similarTable, type Table } from '../schema/index.ts';
import { baseOf } from './condition.ts';
import { planRows } from './read.ts';
import type { Context, ReadNode, ReadPlan, ReadTarget } from './node.ts';

/** What a write does, every name of it found in the schema. */
export type WritePlan = { readonly table: Table } & (
  | ({ readonly kind: 'insert'; readonly conflict?: Conflict } & Written)
  | ({ readonly kind: 'update'; readonly rows: TouchedRows } & Written)
  | { readonly kind: 'delete'; readonly rows: TouchedRows }
);

/** What is written of a body. */
export interface Written {
  /** A single row, or an array of rows. */
  readonly form: 'object' | 'array';
  readonly columns: readonly WrittenColumn[];
  /** Columns that a row of the body lacks get their default, and not NULL. */
  readonly defaults: boolean;
  /** Of a PUT: what each key column of the body must be. */
  readonly keyValues?: readonly (readonly [column: WrittenColumn, value: string])[];
}

/** A column, and where its values are in the rows of a body. */
export interface WrittenColumn {
  readonly column: Column;
  /** Name of the member. */
  readonly member: string;
  /** Type of the value; of a domain what it is made of, for a domain may refuse the NULL that its default replaces. */
  readonly type: string;
  /** The value is a text that holds it. */
  readonly isText?: boolean;
}

/** What happens to a row that is there already. */
export interface Conflict {
  readonly columns: readonly string[];
  /** Of a partial unique index; as the catalogue has it. */
  readonly predicate?: string;
  readonly action: 'merge' | 'ignore';
}

/** The rows that an update or a delete touches: those that a read with the same query would give. */
export interface TouchedRows {
  readonly node: ReadNode;
  /** What tells one row from another, where not all of the rows that meet the conditions are touched. */
  readonly key?: readonly string[];
}

/** A write and what is shown of its rows. */
export interface PlannedWrite {
  readonly write: WritePlan;
  readonly answer: ReadPlan;
}

/** What of a body a plan looks at. */
export interface BodyShape {
  readonly kind: 'object' | 'array';
  readonly keys: readonly string[];
  /** Members are called by their place among the keys: `1`, `2` … */
  readonly byPlace?: boolean;
  /** All values are texts, JSON as well. */
  readonly isText?: boolean;
}

/** What a request writes, before names are looked up. */
export interface WriteRequest {
  readonly query: WriteQuery;
  readonly body: BodyShape;
  /** Columns that are missing in a row get their default. */
  readonly defaults: boolean;
}

/** A table by its name. Throws PGRST205. */
export function writtenTable(target: ReadTarget, known: Schema): Table {
  const table = known.tables.get(target.schema)?.get(target.table);
  if (!table) throw noTable(target.schema, target.table, similarTable(target, target.role, known));
  return table;
}

/** POST. `resolution`: what becomes of rows that are there already; without it they are errors. Throws a `DbrestFault`. */
export function planInsert(
  request: WriteRequest & { readonly resolution: Conflict['action'] | undefined },
  table: Table,
  context: Context,
): PlannedWrite {
  const { query, resolution } = request;
  const conflict = resolution && conflictOf(query.onConflict, table, resolution);
  const write = {
    kind: 'insert' as const,
    table,
    ...written(request, table, context),
    ...(conflict && { conflict }),
  };
  return { write, answer: planAnswer(query.rows, table, context) };
}

/** PUT: the one row whose key the query names. Throws PGRST105, PGRST114, PGRST115 and others. */
export function planPut(request: WriteRequest, table: Table, context: Context): PlannedWrite {
  const { filters, limit, offset } = request.query.rows;
  if (limit !== undefined || offset > 0) throw rangeOfPut();
  const values = new Map(filters.map(keyValue));
  const { primaryKey } = table;
  const isWhole = primaryKey.length > 0 && primaryKey.every((name) => values.has(name));
  if (!isWhole || filters.length !== primaryKey.length) throw notByKey();
  const { columns, ...rest } = written(request, table, context);
  const keyValues = primaryKey.map((name) => {
    const column = columns.find((written) => written.column.name === name);
    // A row without its key is not the one that the query names.
    if (!column) throw otherKey();
    return [column, values.get(name) as string] as const;
  });
  const conflict = { columns: primaryKey, action: 'merge' as const };
  const write = { kind: 'insert' as const, table, columns, ...rest, keyValues, conflict };
  return { write, answer: planAnswer(request.query.rows, table, context) };
}

/** `column=eq.value` and nothing more. */
function keyValue(filter: Logic): readonly [column: string, value: string] {
  const isPlain =
    filter.kind === 'filter' && filter.operator === 'eq' && !filter.negated && !filter.quantifier;
  if (!isPlain || filter.path || filter.operand.kind !== 'text') throw notByKey();
  return [filter.column, filter.operand.text];
}

/** PATCH. Throws a `DbrestFault`. */
export function planUpdate(request: WriteRequest, table: Table, context: Context): PlannedWrite {
  const rows = touchedRows(request.query.rows, table, context);
  const write = { kind: 'update' as const, table, rows, ...written(request, table, context) };
  return { write, answer: planAnswer(request.query.rows, table, context) };
}

/** DELETE. Throws a `DbrestFault`. */
export function planDelete({ rows }: WriteQuery, table: Table, context: Context): PlannedWrite {
  const write = { kind: 'delete' as const, table, rows: touchedRows(rows, table, context) };
  return { write, answer: planAnswer(rows, table, context) };
}

/** What is written of a body. Throws PGRST204. */
function written({ query, body, defaults }: WriteRequest, table: Table, { known }: Context): Written {
  const names = [...new Set(query.columns ?? body.keys)];
  const columns = names.map((name, i) => {
    const column = table.columns.get(name);
    if (!column) throw noWrittenColumn(table.name, name);
    // One that the lines lack gets a place behind their last one, where there is nothing.
    const place = body.keys.lastIndexOf(name) + 1 || body.keys.length + 1 + i;
    const type = baseOf(column.type, known);
    const isText = body.isText === true && /^jsonb?$/.test(type);
    return { column, member: body.byPlace ? String(place) : name, type, ...(isText && { isText }) };
  });
  return { form: body.kind, columns, defaults: defaults && query.columns !== undefined };
}

function conflictOf(
  named: readonly string[] | undefined,
  table: Table,
  action: Conflict['action'],
): Conflict | undefined {
  const columns = named ?? table.primaryKey;
  if (columns.length === 0) return undefined;
  for (const name of columns) if (!table.columns.has(name)) throw noColumn(table.name, name);
  const fitting = table.uniqueIndexes?.filter((index) => hasSameNames(index.columns, columns)) ?? [];
  const isWhole = fitting.length === 0 || fitting.some(({ predicate }) => predicate === undefined);
  const predicate = isWhole ? undefined : fitting[0]?.predicate;
  return { columns, action, ...(predicate !== undefined && { predicate }) };
}

function hasSameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name) => b.includes(name));
}

/** What is shown of the written rows: which they are was decided before. */
function planAnswer({ select, order, embedded }: ReadRequest, table: Table, context: Context): ReadPlan {
  const request = { select, order, embedded, filters: [], offset: 0 };
  return planRows(request, table, { ...context, maxRows: undefined });
}

function touchedRows(request: ReadRequest, table: Table, context: Context): TouchedRows {
  const embeds = request.select.flatMap(embedsOnly);
  // Without a column `select` would mean all of them; which ones does not matter here.
  const select: SelectItem[] = embeds.length > 0 ? embeds : [{ kind: 'all' }];
  const node = planRows({ ...request, select }, table, { ...context, maxRows: undefined });
  const isBounded = node.limit !== undefined || node.offset > 0;
  return isBounded ? { node, key: rowKey(table) } : { node };
}

/** Embeds say which rows there are: those of theirs, and whether there is any. */
function embedsOnly(item: SelectItem): SelectedEmbed[] {
  return item.kind === 'embed' ? [{ ...item, select: item.select.flatMap(embedsOnly) }] : [];
}

/** What tells one row of a table from another: its key, or where PostgreSQL keeps the row. */
function rowKey({ primaryKey, kind, name }: Table): readonly string[] {
  if (primaryKey.length > 0) return primaryKey;
  if (kind !== 'r' && kind !== 'p') throw notLimitable(name);
  return ['tableoid', 'ctid'];
}
