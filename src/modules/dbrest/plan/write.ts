import {
  type Media,
  only,
  type Preference,
  type Preferences,
  type ReadQuery,
  type WriteMethod,
  type WriteRequest,
  type SelectedEmbed,
  type SelectItem,
  type WriteQuery,
} from '../request/index.ts';
import type { RoleSettings, Table, TableName } from '../schema/index.ts';
import { type FormContext, isConstrained, type RowForm, shapeOf, tailOf } from './form.ts';
import { type InsertPlan, planInsert, planPut } from './insert.ts';
import type { Context, ReadPlan, ReadNode } from './node.ts';
import { planRows, unknownTable } from './read.ts';
import { isByKey, type WriteCondition, writeCondition } from './condition.ts';
import {
  type WrittenColumn,
  checkKey,
  type WriteSource,
  type WrittenColumns,
  writtenColumns,
} from './written-columns.ts';
import { groupedWrite, keylessElements, notLimitable, rangeByKey } from '../fault/index.ts';
import { isOfGroup } from './sort.ts';

/** A write resolved against the schema. */
export type WritePlan = InsertPlan | UpdatePlan | DeletePlan;

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
  /** The part of the rows in the response: nothing, the `Location` and `ETag` of a single row, or the rows. */
  readonly shows: 'nothing' | 'location' | 'rows';
  /** The column with the versions of the rows, if the response may show one. */
  readonly version: string | undefined;
  readonly form: RowForm;
  /** The preferences that are honoured. */
  readonly preferences: Preferences;
  readonly roleSettings: RoleSettings | undefined;
  /** The number of merged rows is needed. */
  readonly counted: boolean;
  /** The result may not fit the request, so it is checked before the commit. */
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
  // A deleted row leaves no version to compare.
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

function planShown({ select, order, embedded }: ReadQuery, table: Table, context: Context): ReadPlan {
  const request = { select, order, embedded, filters: [], having: [], distinct: [], offset: 0 };
  return planRows(request, table, { ...context, maxRows: undefined, isDerived: true });
}

/** An update of the rows that the query finds. All get one row of values, or each gets the element with its key. */
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

/** Plans a PATCH. Its body is one row of values for all rows, or an array with keys. Throws a `DbrestFault`. */
function planUpdate(source: WriteSource, table: Table, context: Context): UpdatePlan {
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
 * The columns by which each element of an array finds its rows: the primary key, or the columns of `on_conflict`.
 * `undefined` if one row of values holds for all rows. Throws DBREST105 and 42703.
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
function planDelete({ rows }: WriteQuery, table: Table, context: Context): DeletePlan {
  return { kind: 'delete', table, rows: touchedRows(rows, table, context) };
}

/** Plans which rows a write affects. Throws PGRST127 for a range of rows that no column identifies. */
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
