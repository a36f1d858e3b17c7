import {
  groupedWrite,
  keylessElements,
  mergesByAny,
  mergesByExclusion,
  nestsNothing,
  notByKey,
  notLimitable,
  noWrittenColumn,
  otherKey,
  rangeByKey,
  rangeOfPut,
} from '../fault/index.ts';
import {
  ANY_CONSTRAINT,
  type Logic,
  type Media,
  only,
  type Preference,
  type Preferences,
  type ReadQuery,
  type SelectedEmbed,
  type SelectItem,
  type WriteMethod,
  type WriteQuery,
  type WriteRequest,
  type WrittenBody,
} from '../request/index.ts';
import type { Column, RoleSettings, Table, TableName } from '../schema/index.ts';
import { type FormContext, isConstrained, type RowForm, shapeOf, tailOf } from './form.ts';
import { type InsertedRows, planNested } from './nested.ts';
import type { Context, ReadNode, ReadPlan } from './node.ts';
import { planRows, unknownTable } from './read.ts';
import { isByKey, type WriteCondition, writeCondition } from './row-version.ts';
import { isOfGroup } from './sort.ts';
import { unknownColumn } from './value.ts';
import { type WrittenColumn, writtenColumn } from './written.ts';

/** A write resolved against the schema. */
export type WritePlan = { readonly table: Table } & (
  | ({ readonly kind: 'insert'; readonly conflict?: Conflict } & WrittenColumns & Nesting)
  | ({ readonly kind: 'update'; readonly rows: TouchedRows } & WrittenColumns & ByElement)
  | { readonly kind: 'delete'; readonly rows: TouchedRows }
);

/** The columns of a body that are written. */
export interface WrittenColumns {
  /** A single row, or an array of rows. */
  readonly form: 'object' | 'array';
  readonly columns: readonly WrittenColumn[];
  /** Columns that a row of the body lacks get their default instead of NULL. */
  readonly defaults: boolean;
  /** For PUT: the required value of each key column. */
  readonly keyValues?: readonly KeyValue[];
}

/** An insert whose body has rows of other tables, too. */
interface Nesting {
  readonly nested?: InsertedRows;
}

/** An update by an array, each element of which changes the rows with its key. */
interface ByElement {
  /** The columns of that key, which are not changed; absent if one row of values holds for all rows. */
  readonly by?: readonly WrittenColumn[];
}

/** The value in the query for a column of the key; `read` is the function that converts it. */
interface KeyValue {
  readonly column: WrittenColumn;
  readonly value: string;
  readonly read?: TableName;
}

/** The treatment of rows that already exist. */
export interface Conflict {
  /** None: those of any constraint. */
  readonly columns: readonly string[];
  /** The predicate of a partial unique index, as in the catalogue. */
  readonly predicate?: string;
  /** The exclusion constraint over the columns. */
  readonly constraint?: string;
  readonly action: 'merge' | 'ignore';
  /**
   * Present if an insert would need columns that the rows do not have: PostgreSQL finds that out before it looks for rows that
   * exist. Those are updated by these columns, and the others refused.
   */
  readonly by?: readonly WrittenColumn[];
}

/** The rows that an update or a delete affects: those that a read with the same query returns. */
export interface TouchedRows {
  readonly node: ReadNode;
  /** The columns that identify a row, if the range selects only some of the matching rows. */
  readonly key?: readonly string[];
}

/** A write before the media type is chosen. */
export interface FoundWrite {
  readonly kind: 'write';
  readonly request: WriteRequest;
  readonly write: WritePlan;
  /** The outputs of the written rows, without filters. */
  readonly rows: ReadPlan;
  /** The columns of the key, for the `Location` of a row. */
  readonly key: readonly KeyColumn[];
  readonly condition: WriteCondition | undefined;
}

/** A column of the key. `through` makes the JSON that a filter can convert back. */
interface KeyColumn {
  readonly name: string;
  readonly through?: TableName;
}

/** A complete plan of a write. */
export interface PlannedWrite extends FoundWrite {
  /** What the response contains of the rows: nothing, the `Location` and `ETag` of a single row, or the rows. */
  readonly shows: 'nothing' | 'location' | 'rows';
  /** The column with the versions of the rows, if the response may show one. */
  readonly version: string | undefined;
  readonly form: RowForm;
  /** The preferences that are honoured. */
  readonly preferences: Preferences;
  readonly roleSettings: RoleSettings | undefined;
  /** The number of merged rows is needed. */
  readonly counted: boolean;
  /** The result may violate what the client asked for, so it is checked before the commit. */
  readonly held: boolean;
}

/** Plans a write and the read of its rows. Throws a `DbrestFault`. */
export function findWrite(request: WriteRequest, context: Context): FoundWrite {
  const table = writtenTable(context);
  const write = writePlan(request, table, context);
  const key = table.primaryKey.map((name) => keyColumn(name, table, context));
  const rows = planShown(request.query.rows, table, context);
  return { kind: 'write', request, write, rows, key, condition: writeCondition(request, table, context) };
}

function keyColumn(name: string, { columns }: Table, { known }: Context): KeyColumn {
  const { shown, read } = known.representations?.get(columns.get(name)?.type ?? '') ?? {};
  return { name, ...(shown && read && { through: shown }) };
}

/** Completes the plan of a write for a media type. */
export function formWrite(
  found: FoundWrite,
  media: Media,
  { roleSettings, version: column }: FormContext,
): PlannedWrite {
  const { request, write, condition } = found;
  const { method } = request.head;
  const preferences = appliedTo(write, request);
  const isNew = write.kind === 'insert' && write.form === 'object';
  const shape = shapeOf(media, isNew ? 1 : undefined);
  // Of a deleted row nothing is left that could be compared.
  const isVersionless = method === 'DELETE' || media.plan || shape === 'handled' || nests(write);
  const version = isVersionless ? undefined : column;
  const shows = shownBy(found, media, version);
  const isOne = isNew || media.format === 'object' || (write.kind === 'update' && isByKey(write.rows.node));
  const isMerge = write.kind === 'insert' && write.conflict?.action === 'merge' && !write.conflict.by;
  const isBounded = preferences.maxAffected !== undefined || condition !== undefined;
  const tailVersion = isOne ? version : undefined;
  return {
    ...found,
    shows,
    form: {
      media,
      shape,
      tail: tailOf(media, shape, { total: false, response: false, version: tailVersion }),
    },
    version,
    preferences,
    roleSettings,
    counted: isMerge && (shows === 'rows' || method === 'POST' || condition !== undefined),
    held: !media.plan && (method === 'PUT' || isBounded || isConstrained(media) || isJudged(write)),
  };
}

function nests(write: WritePlan): boolean {
  return write.kind === 'insert' && write.nested !== undefined;
}

/** Returns whether its rows are checked before the commit. */
function isJudged(write: WritePlan): boolean {
  return elementsKey(write) !== undefined || nests(write);
}

/** The columns of the key that each element of the body must have for itself, which is checked before the commit. */
export function elementsKey(write: WritePlan): readonly WrittenColumn[] | undefined {
  if (write.kind === 'insert') return write.conflict?.by;
  return write.kind === 'update' ? write.by : undefined;
}

/** Applies `Prefer: return=…`; an inserted row with a key has a `Location`, a row with a version an `ETag`. */
function shownBy(
  { write, request }: FoundWrite,
  media: Media,
  version: string | undefined,
): PlannedWrite['shows'] {
  const { method, preferences } = request.head;
  if (preferences.return === 'representation' || media.plan) return 'rows';
  const isPlaced = (method === 'POST' && write.table.primaryKey.length > 0) || version !== undefined;
  return isPlaced && preferences.return === 'headers-only' ? 'location' : 'nothing';
}

const ALWAYS: readonly Preference[] = ['return', 'count', 'tx', 'handling', 'timeZone', 'timeout'];
const HONOURED: Readonly<Record<WriteMethod, readonly Preference[]>> = {
  POST: [...ALWAYS, 'resolution', 'missing'],
  PUT: ALWAYS,
  PATCH: [...ALWAYS, 'missing', 'maxAffected'],
  DELETE: [...ALWAYS, 'maxAffected'],
};

/** The preferences that have an effect on this write. */
function appliedTo(write: WritePlan, { head: { method, preferences } }: WriteRequest): Preferences {
  const isUpsert = write.kind === 'insert' && write.conflict !== undefined;
  const isBounded = preferences.handling === 'strict';
  const applied = HONOURED[method].filter((name) => {
    return (name !== 'resolution' || isUpsert) && (name !== 'maxAffected' || isBounded);
  });
  return only(preferences, applied);
}

/** The table of a write. Throws PGRST205. */
function writtenTable(context: Context): Table {
  const table = context.known.tables.get(context.schema)?.get(context.table);
  if (!table) throw unknownTable(context, context.known);
  return table;
}

function writePlan({ head, query, body }: WriteRequest, table: Table, context: Context): WritePlan {
  if (!body) return planDelete(query, table, context);
  const { missing, resolution } = head.preferences;
  const source = { query, body, defaults: missing === 'default', ...(resolution && { resolution }) };
  switch (head.method) {
    case 'POST':
      return planInsert({ ...source, shows: head.preferences.return === 'representation' }, table, context);
    case 'PUT':
      return planPut({ ...source, isNew: head.precondition?.kind === 'absent' }, table, context);
    case 'PATCH':
    case 'DELETE':
      return planUpdate(source, table, context);
  }
}

/** The query and the body of a write. */
interface WriteSource {
  readonly query: WriteQuery;
  readonly body: WrittenBody;
  /** Missing columns get their default. */
  readonly defaults: boolean;
}

interface InsertSource extends WriteSource, Pick<Preferences, 'resolution'> {
  /** The response shows the rows. */
  readonly shows: boolean;
}

/** Plans a POST. Without a `resolution`, existing rows are errors. Throws a `DbrestFault`. */
function planInsert(source: InsertSource, table: Table, context: Context): WritePlan {
  const { query, resolution } = source;
  const nested = nestedOf(source, table, context);
  if (nested) {
    const { columns } = nested;
    return { kind: 'insert', table, form: source.body.kind, columns, defaults: false, nested };
  }
  const action = resolution === 'merge-duplicates' ? 'merge' : 'ignore';
  const all = written(source, table, context);
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
  { query, body, resolution, shows }: InsertSource,
  table: Table,
  context: Context,
): InsertedRows | undefined {
  if (!body.nested || query.columns) return undefined;
  const rows = planNested({ path: [], keys: body.keys, members: body.nested }, table, context);
  const [first] = rows.nested;
  if (!first) return undefined;
  if (resolution) throw nestsNothing(first.member, 'An upsert writes rows of one table.');
  if (shows && table.primaryKey.length === 0)
    throw nestsNothing(first.member, `Without a primary key, rows of '${table.name}' cannot be shown.`);
  return rows;
}

/** The columns that existing rows are updated by, if no row of the body can be inserted. */
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

/** `isNew`: a row that is there is left as it is. */
interface PutSource extends WriteSource {
  readonly isNew: boolean;
}

/** Plans a PUT, which writes the row whose key is in the query. Throws PGRST105, PGRST114, PGRST115 and others. */
function planPut({ isNew, ...source }: PutSource, table: Table, context: Context): WritePlan {
  const { filters, limit, offset } = source.query.rows;
  if (limit !== undefined || offset > 0) throw rangeOfPut();
  const values = new Map(filters.map(keyValue));
  const { primaryKey } = table;
  const isWhole = primaryKey.length > 0 && primaryKey.every((name) => values.has(name));
  if (!isWhole || filters.length !== primaryKey.length) throw notByKey();
  const { columns, ...rest } = written(source, table, context);
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

/** Plans a PATCH: of one row of values, or of an array whose elements have keys. Throws a `DbrestFault`. */
function planUpdate(source: WriteSource, table: Table, context: Context): WritePlan {
  const rows = touchedRows(source.query.rows, table, context);
  const all = written(source, table, context);
  const key = elementKey(source, table, context);
  if (!key) return { kind: 'update', table, rows, ...all };
  if (rows.key) throw rangeByKey();
  const isKey = ({ column }: WrittenColumn): boolean => key.includes(column.name);
  const columns = all.columns.filter((column) => !isKey(column));
  return { kind: 'update', table, rows, ...all, columns, by: all.columns.filter(isKey) };
}

/**
 * The columns that each element of an array must have, so that it can be told which rows it changes: the primary key, or what
 * `on_conflict` names. `undefined` for a single row of values. Throws DBREST105 and 42703.
 */
function elementKey(
  { query, body }: WriteSource,
  table: Table,
  context: Context,
): readonly string[] | undefined {
  const { onConflict } = query;
  if (body.kind !== 'array') return undefined;
  const key = onConflict ?? table.primaryKey;
  for (const name of key) if (!table.columns.has(name)) throw unknownColumn(name, table, context);
  const given = query.columns ?? body.keys;
  if (key.length > 0 && key.every((name) => given.includes(name))) return key;
  // What one element has can hold for all rows.
  if (body.isSeveral || (onConflict && given.length > 0)) throw keylessElements(table.name, key);
  return undefined;
}

/** Plans a DELETE. Throws a `DbrestFault`. */
function planDelete({ rows }: WriteQuery, table: Table, context: Context): WritePlan {
  return { kind: 'delete', table, rows: touchedRows(rows, table, context) };
}

/** The columns of a body that are written. Throws PGRST204. */
function written({ query, body, defaults }: WriteSource, table: Table, context: Context): WrittenColumns {
  const names = [...new Set(query.columns ?? body.keys)];
  const columns = names.map((name, i) => {
    const column = table.columns.get(name);
    if (!column) throw noWrittenColumn(table.name, name);
    // A column that the lines lack gets a number after their last one, which has no values.
    const number = body.keys.lastIndexOf(name) + 1 || body.keys.length + 1 + i;
    const member = body.numbered ? String(number) : name;
    return writtenColumn(column, { member, isText: body.isText }, context);
  });
  return { form: body.kind, columns, defaults: defaults && query.columns !== undefined };
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
  for (const name of columns) if (!table.columns.has(name)) throw unknownColumn(name, table, context);
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

function planShown({ select, order, embedded }: ReadQuery, table: Table, context: Context): ReadPlan {
  const request = { select, order, embedded, filters: [], having: [], distinct: [], offset: 0 };
  return planRows(request, table, { ...context, maxRows: undefined, isDerived: true });
}

function touchedRows(request: ReadQuery, table: Table, context: Context): TouchedRows {
  const embeds = request.select.flatMap(embedsOnly);
  // An empty `select` would mean all columns; which columns are read does not matter here.
  const select: SelectItem[] = embeds.length > 0 ? embeds : [{ kind: 'all' }];
  // Groups of the written rows are ordered only in what is shown of them.
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
