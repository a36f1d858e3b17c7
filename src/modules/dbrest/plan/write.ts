import {
  noColumn,
  noTable,
  notByKey,
  notLimitable,
  noWrittenColumn,
  otherKey,
  rangeOfPut,
} from '../fault/index.ts';
import {
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
import { type Column, type RoleSettings, similarTable, type Table } from '../schema/index.ts';
import { baseOf } from './condition.ts';
import { isConstrained, type RowForm, shapeOf, tailOf } from './form.ts';
import type { Context, ReadNode, ReadPlan } from './node.ts';
import { planRows } from './read.ts';

/** What a write does, every name of it found in the schema. */
export type WritePlan = { readonly table: Table } & (
  | ({ readonly kind: 'insert'; readonly conflict?: Conflict } & WrittenColumns)
  | ({ readonly kind: 'update'; readonly rows: TouchedRows } & WrittenColumns)
  | { readonly kind: 'delete'; readonly rows: TouchedRows }
);

/** What is written of a body. */
export interface WrittenColumns {
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

/** A write whose names were found. */
export interface FoundWrite {
  readonly kind: 'write';
  readonly request: WriteRequest;
  readonly write: WritePlan;
  /** What is shown of the written rows: which they are was decided before. */
  readonly rows: ReadPlan;
}

/** A write, and in which form its rows are shown. */
export interface PlannedWrite extends FoundWrite {
  /** What the response tells of the rows: nothing, where the one is found, or all that was asked for. */
  readonly shows: 'nothing' | 'location' | 'rows';
  readonly form: RowForm;
  /** Those that this write honours. */
  readonly preferences: Preferences;
  readonly roleSettings: RoleSettings | undefined;
  /** Merged rows are counted. */
  readonly counted: boolean;
  /** It can turn out not to be what the client asked for: it is looked at before it is committed. */
  readonly held: boolean;
}

/** Throws a `DbrestFault`. */
export function findWrite(request: WriteRequest, context: Context): FoundWrite {
  const table = writtenTable(context);
  const write = writePlan(request, table, context);
  return { kind: 'write', request, write, rows: planShown(request.query.rows, table, context) };
}

export function formWrite(
  { kind, request, write, rows }: FoundWrite,
  media: Media,
  roleSettings: RoleSettings | undefined,
): PlannedWrite {
  const { method } = request.head;
  const preferences = appliedTo(write, request);
  const shows = shownBy(write, media, request);
  const isOne = write.kind === 'insert' && write.form === 'object';
  const shape = shapeOf(media, isOne ? 1 : undefined);
  const isMerge = write.kind === 'insert' && write.conflict?.action === 'merge';
  const isJudged = method === 'PUT' || preferences.maxAffected !== undefined || isConstrained(media);
  return {
    kind,
    request,
    write,
    rows,
    shows,
    form: { media, shape, tail: tailOf(media, shape) },
    preferences,
    roleSettings,
    counted: shows === 'rows' && isMerge,
    held: !media.plan && isJudged,
  };
}

/** `Prefer: return=…`; only a new row with a key has a place. */
function shownBy(write: WritePlan, media: Media, { head }: WriteRequest): PlannedWrite['shows'] {
  const { method, preferences } = head;
  if (preferences.return === 'representation' || media.plan) return 'rows';
  const isPlaced = method === 'POST' && write.table.primaryKey.length > 0;
  return isPlaced && preferences.return === 'headers-only' ? 'location' : 'nothing';
}

const ALWAYS: readonly Preference[] = ['return', 'count', 'tx', 'handling', 'timeZone'];
const HONOURED: Readonly<Record<WriteMethod, readonly Preference[]>> = {
  POST: [...ALWAYS, 'resolution', 'missing'],
  PUT: ALWAYS,
  PATCH: [...ALWAYS, 'missing', 'maxAffected'],
  DELETE: [...ALWAYS, 'maxAffected'],
};

/** What has no effect on this very write is not honoured. */
function appliedTo(write: WritePlan, { head: { method, preferences } }: WriteRequest): Preferences {
  const isUpsert = write.kind === 'insert' && write.conflict !== undefined;
  const isBounded = preferences.handling === 'strict';
  const applied = HONOURED[method].filter((name) => {
    return (name !== 'resolution' || isUpsert) && (name !== 'maxAffected' || isBounded);
  });
  return only(preferences, applied);
}

/** Throws PGRST205. */
function writtenTable({ schema, table: name, role, known }: Context): Table {
  const table = known.tables.get(schema)?.get(name);
  if (!table) throw noTable(schema, name, similarTable({ schema, table: name }, role, known));
  return table;
}

function writePlan({ head, query, body }: WriteRequest, table: Table, context: Context): WritePlan {
  if (!body) return planDelete(query, table, context);
  const { missing, resolution } = head.preferences;
  const source = { query, body, defaults: missing === 'default', ...(resolution && { resolution }) };
  switch (head.method) {
    case 'POST':
      return planInsert(source, table, context);
    case 'PUT':
      return planPut(source, table, context);
    case 'PATCH':
    case 'DELETE':
      return planUpdate(source, table, context);
  }
}

/** What is written, and from where. */
interface WriteSource {
  readonly query: WriteQuery;
  readonly body: WrittenBody;
  /** Columns that are missing in a row get their default. */
  readonly defaults: boolean;
}

/** POST. Without a `resolution` rows that are there already are errors. Throws a `DbrestFault`. */
function planInsert(
  source: WriteSource & Pick<Preferences, 'resolution'>,
  table: Table,
  context: Context,
): WritePlan {
  const { query, resolution } = source;
  const action = resolution === 'merge-duplicates' ? 'merge' : 'ignore';
  const conflict = resolution && conflictOf(query.onConflict, table, action);
  return { kind: 'insert', table, ...written(source, table, context), ...(conflict && { conflict }) };
}

/** PUT: the one row whose key the query names. Throws PGRST105, PGRST114, PGRST115 and others. */
function planPut(source: WriteSource, table: Table, context: Context): WritePlan {
  const { filters, limit, offset } = source.query.rows;
  if (limit !== undefined || offset > 0) throw rangeOfPut();
  const values = new Map(filters.map(keyValue));
  const { primaryKey } = table;
  const isWhole = primaryKey.length > 0 && primaryKey.every((name) => values.has(name));
  if (!isWhole || filters.length !== primaryKey.length) throw notByKey();
  const { columns, ...rest } = written(source, table, context);
  const keyValues = primaryKey.map((name) => {
    const column = columns.find((written) => written.column.name === name);
    // A row without its key is not the one that the query names.
    if (!column) throw otherKey();
    return [column, values.get(name) as string] as const;
  });
  const conflict = { columns: primaryKey, action: 'merge' as const };
  return { kind: 'insert', table, columns, ...rest, keyValues, conflict };
}

/** `column=eq.value` and nothing more. */
function keyValue(filter: Logic): readonly [column: string, value: string] {
  const isPlain =
    filter.kind === 'filter' && filter.operator === 'eq' && !filter.negated && !filter.quantifier;
  if (!isPlain || filter.path || filter.operand.kind !== 'text') throw notByKey();
  return [filter.column, filter.operand.text];
}

/** PATCH. Throws a `DbrestFault`. */
function planUpdate(source: WriteSource, table: Table, context: Context): WritePlan {
  const rows = touchedRows(source.query.rows, table, context);
  return { kind: 'update', table, rows, ...written(source, table, context) };
}

/** DELETE. Throws a `DbrestFault`. */
function planDelete({ rows }: WriteQuery, table: Table, context: Context): WritePlan {
  return { kind: 'delete', table, rows: touchedRows(rows, table, context) };
}

/** What is written of a body. Throws PGRST204. */
function written({ query, body, defaults }: WriteSource, table: Table, { known }: Context): WrittenColumns {
  const names = [...new Set(query.columns ?? body.keys)];
  const columns = names.map((name, i) => {
    const column = table.columns.get(name);
    if (!column) throw noWrittenColumn(table.name, name);
    // One that the lines lack gets a place behind their last one, where there is nothing.
    const number = body.keys.lastIndexOf(name) + 1 || body.keys.length + 1 + i;
    const type = baseOf(column.type, known);
    const isText = body.isText === true && /^jsonb?$/.test(type);
    return { column, member: body.numbered ? String(number) : name, type, ...(isText && { isText }) };
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

function planShown({ select, order, embedded }: ReadQuery, table: Table, context: Context): ReadPlan {
  const request = { select, order, embedded, filters: [], offset: 0 };
  return planRows(request, table, { ...context, maxRows: undefined });
}

function touchedRows(request: ReadQuery, table: Table, context: Context): TouchedRows {
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
