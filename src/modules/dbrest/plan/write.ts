import {
  type Media,
  only,
  type Preference,
  type Preferences,
  type ReadQuery,
  type WriteMethod,
  type WriteRequest,
} from '../request/index.ts';
import type { RoleSettings, Table, TableName } from '../schema/index.ts';
import { type FormContext, isConstrained, type RowForm, shapeOf, tailOf } from './form.ts';
import { type InsertPlan, planInsert, planPut } from './insert.ts';
import type { Context, ReadPlan } from './node.ts';
import { planRows, unknownTable } from './read.ts';
import { isByKey, type WriteCondition, writeCondition } from './row-version.ts';
import { type DeletePlan, planDelete, planUpdate, type UpdatePlan } from './update.ts';
import type { WrittenColumn } from './written-columns.ts';

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

function planShown({ select, order, embedded }: ReadQuery, table: Table, context: Context): ReadPlan {
  const request = { select, order, embedded, filters: [], having: [], distinct: [], offset: 0 };
  return planRows(request, table, { ...context, maxRows: undefined, isDerived: true });
}
