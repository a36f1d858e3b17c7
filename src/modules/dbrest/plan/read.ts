import { type DbrestFault, noAggregates, noRelatedOrder, noTable } from '../fault/index.ts';
import {
  type Media,
  only,
  type OrderTerm,
  type Preference,
  type Preferences,
  type ReadQuery,
  type ReadRequest,
  type SelectedColumn,
  type SelectedCount,
  type SelectedEmbed,
  type SelectItem,
} from '../request/index.ts';
import { mayUse, type RoleSettings, type Schema, similarTable, type Table } from '../schema/index.ts';
import { type NodeScope, planCondition } from './condition.ts';
import {
  addressed,
  asEmbed,
  type EmbedDraft,
  type EmbedSource,
  findEmbedSource,
  levelsBelow,
} from './embed.ts';
import { type FormContext, mostRows, readShape, type RowForm, shownMedia, tailOfRead } from './form.ts';
import { groupedSort } from './grouping.ts';
import type { Context, LevelAt, Output, ReadNode, ReadPlan, ReadTarget, Sort, Value } from './node.ts';
import { isByKey } from './row-version.ts';
import {
  castType,
  everyColumn,
  isRepresented,
  indexAmong,
  planValue,
  rowFunctions,
  shownThrough,
} from './value.ts';
import { rowLimitOf } from '../row-limits.ts';

/** Plans a selected column. Throws 42703 for an unknown column, and the faults of `castType`. */
function planColumn(item: SelectedColumn, table: Table, context: Context): Output {
  const { cast, aggregate, aggregateCast } = item;
  const value = planValue(item, table, context);
  return {
    kind: 'value',
    value,
    name: outputName(item),
    ...(value.path.length === 0 && !aggregate && shownThrough(value, context.known)),
    ...(cast !== undefined && { cast: castType(cast, context) }),
    ...(aggregate && { aggregate }),
    ...(aggregateCast !== undefined && { aggregateCast: castType(aggregateCast, context) }),
  };
}

/** Plans `count()`. Throws the faults of `castType`. */
function planCount({ alias = 'count', cast }: SelectedCount, context: Context): Output {
  const shown = { kind: 'rows', name: alias, aggregate: 'count' } as const;
  return cast === undefined ? shown : { ...shown, aggregateCast: castType(cast, context) };
}

/**
 * Interprets `count` as the number of rows if there is no such column, as PostgreSQL does with `orders.count`. Clients used
 * this form before aggregates existed, so it works alone even where aggregates are disabled.
 */
function countColumn(item: SelectedColumn, table: Table, context: Context): SelectedCount | undefined {
  const { column, path, aggregate, alias, cast } = item;
  if (column !== 'count' || path || aggregate || table.columns.has(column)) return undefined;
  if (rowFunctions(table, column, context).length > 0) return undefined;
  return { kind: 'count', ...(alias !== undefined && { alias }), ...(cast && { cast }) };
}

/** The name of an output: the alias, else the aggregate, else the last key of the path, else the column. */
function outputName({ alias, aggregate, path = [], column }: SelectedColumn): string {
  const key = path.findLast((step) => typeof step.key === 'string')?.key;
  return alias ?? aggregate ?? (key as string | undefined) ?? column;
}

/** Plans an order term. Throws a `DbrestFault` for an unknown field, and for an order by a to-many embed. */
function planSort(term: OrderTerm, { table, embeds }: NodeScope, context: Context): Sort {
  const { relation, direction, nulls } = term;
  const ordering = { ...(direction && { direction }), ...(nulls && { nulls }) };
  if (relation === undefined) return { kind: 'value', value: planValue(term, table, context), ...ordering };
  const embed = addressed(embeds, relation, { itemOf: ({ item }) => item, context });
  if (!embed.single) throw noRelatedOrder(table.name, relation);
  embed.used = true;
  const index = indexOfOutput(relatedValue(term, embed, context), embed, context);
  return { kind: 'related', embed, index, ...ordering };
}

/**
 * The value of a related order: an aliased output of the embed, else a field of its table. For a spread embed the index of
 * the output.
 */
function relatedValue(
  term: OrderTerm,
  { node, shown, spread }: EmbedDraft,
  context: Context,
): Value | number {
  const { column, path } = term;
  const index = node.outputs.findIndex((output) => output.kind !== 'all' && output.name === column);
  const output = node.outputs[index];
  const isAlias = output && index < shown && !path && !node.table.columns.has(column);
  if (isAlias && spread) return index;
  if (isAlias && output.kind === 'value' && !output.cast && !output.aggregate) return output.value;
  return planValue(term, node.table, context);
}

/** The index of a value among the outputs of an embed; it is appended if no shown output is this value alone. */
function indexOfOutput(value: Value | number, embed: EmbedDraft, { known }: Context): number {
  if (typeof value === 'number') return value;
  const { outputs, table } = embed.node;
  const shown = embed.spread ? indexAmong(value, outputs) : undefined;
  if (shown !== undefined) return shown;
  const named = outputs.flatMap((output) => everyColumn(output, table, known));
  embed.shown += named.length - outputs.length;
  outputs.splice(0, outputs.length, ...named);
  return outputs.push({ kind: 'value', value, name: '' }) - 1;
}

/** The parsed request for one node and those below it. */
interface NodeQuery {
  readonly select: readonly SelectItem[];
  readonly levels: readonly LevelAt[];
  readonly spread: boolean;
  /** Most rows, whatever the request says. */
  readonly most: number;
}

const EVERYTHING: LevelAt = { path: [], filters: [], order: [], offset: 0 };

/** Plans a node and its embeds, depth first. Throws a `DbrestFault`. */
function planNode(table: Table, query: NodeQuery, context: Context): ReadNode {
  const { select, levels, spread, most } = query;
  const { isDerived = false } = context;
  const items = select.filter((item) => item.kind === 'embed');
  const below = levelsBelow(levels, items, context);
  const embeds: EmbedDraft[] = [];
  const outputs = select.flatMap((item): readonly Output[] => {
    if (item.kind !== 'embed') return planOutput(item, table, context);
    const source = findEmbedSource(item, table, context);
    const asked = { ...item, levels: below.get(item) ?? [], most: mostOf(source, context) };
    const inside = { ...context, isDerived: 'returnsSet' in source.by };
    const { draft, shows } = asEmbed(item, source, planNode(source.target, asked, inside));
    embeds.push(draft);
    return shows;
  });
  const grouped = outputs.some(isAggregate);
  const isBareCount = select.length === 1 && select[0]?.kind === 'column' && outputs[0]?.kind === 'rows';
  if (grouped && !isBareCount && context.aggregates === false) throw noAggregates();
  const level = levels.find(({ path }) => path.length === 0) ?? EVERYTHING;
  const scope = { table, embeds };
  const limit = Math.min(level.limit ?? Infinity, most);
  const sorts = level.order.map((term) => planSort(term, scope, context));
  const named =
    spread || grouped ? outputs.flatMap((output) => everyColumn(output, table, context.known)) : outputs;
  return {
    table,
    outputs: named,
    conditions: level.filters.map((filter) => planCondition(filter, scope, context)),
    sorts: grouped ? sorts.map((sort) => groupedSort(sort, { outputs: named, table, isDerived })) : sorts,
    embeds: embeds.filter((embed) => isNeeded(embed, outputs)),
    ...(limit !== Infinity && { limit }),
    offset: level.offset,
    grouped,
  };
}

/** A function may give more rows than the one that it declares (`rows 1`). */
function mostOf({ single, by, target }: EmbedSource, { maxRows: limits }: Context): number {
  const maxRows = rowLimitOf(limits, target.name) ?? Infinity;
  return single && 'returnsSet' in by && by.returnsSet ? Math.min(1, maxRows) : maxRows;
}

function planOutput(item: Exclude<SelectItem, SelectedEmbed>, table: Table, context: Context): Output[] {
  switch (item.kind) {
    case 'all':
      return isRepresented(table, context.known) ? everyColumn(item, table, context.known) : [item];
    case 'count':
      return [planCount(item, context)];
    case 'column': {
      const count = countColumn(item, table, context);
      return [count ? planCount(count, context) : planColumn(item, table, context)];
    }
  }
}

function isAggregate(output: Output): boolean {
  return output.kind !== 'all' && output.aggregate !== undefined;
}

/** Returns whether an embed is shown or affects which rows are returned or their order. */
function isNeeded(embed: EmbedDraft, outputs: readonly Output[]): boolean {
  return embed.inner || embed.used || outputs.some((output) => 'embed' in output && output.embed === embed);
}

/** Plans a read of a table. All names in the result come from the schema. Throws a `DbrestFault`. */
export function planRead(request: ReadQuery, target: ReadTarget, known: Schema): ReadPlan {
  const table = known.tables.get(target.schema)?.get(target.table);
  if (!table) throw unknownTable(target, known);
  return planRows(request, table, { ...target, known });
}

/** PGRST205 with the similar name of a table that the role may use. */
export function unknownTable(target: ReadTarget, known: Schema): DbrestFault {
  const similar = similarTable(target, known, (table) => mayUse(target.role, table, known));
  return noTable(target.schema, target.table, similar);
}

/** Plans a read of a known table or function result. */
export function planRows(request: ReadQuery, table: Table, context: Context): ReadPlan {
  const { select, embedded, filters, order, limit, offset } = request;
  const root = { path: [], filters, order, ...(limit !== undefined && { limit }), offset };
  const levels = [root, ...embedded];
  const items: ReadQuery['select'] = select.length === 0 ? [{ kind: 'all' }] : select;
  const most = rowLimitOf(context.maxRows, context.table) ?? Infinity;
  return planNode(table, { select: items, levels, spread: false, most }, context);
}

/** A read before the media type is chosen. */
export interface FoundRead {
  readonly kind: 'read';
  readonly request: ReadRequest;
  readonly rows: ReadPlan;
}

/** A complete plan of a read. */
export interface PlannedRead extends FoundRead {
  readonly form: RowForm;
  /** The preferences that are honoured. */
  readonly preferences: Preferences;
  readonly roleSettings: RoleSettings | undefined;
}

/** Plans the rows of a read. Throws a `DbrestFault`. */
export function findRead(request: ReadRequest, context: Context): FoundRead {
  return { kind: 'read', request, rows: planRead(request.query, context, context.known) };
}

/** Completes the plan of a read for a media type. */
export function formRead(
  { kind, request, rows }: FoundRead,
  media: Media,
  { roleSettings, version: column }: FormContext,
): PlannedRead {
  const { isBodyless, preferences } = request.head;
  const shown = shownMedia(media);
  const shape = readShape(media, rows, isBodyless);
  const isOne = !rows.grouped && rows.outputs.length > 0 && (shown.format === 'object' || isByKey(rows));
  // What is counted has no rows, and the result of a handler is not one.
  const version = isOne && shape !== 'handled' && shape !== 'counted' ? column : undefined;
  const tail = tailOfRead(media, shape, { rows, version });
  const form = { media, shape, most: mostRows(shown, shape, isBodyless), tail };
  return { kind, request, rows, form, preferences: only(preferences, HONOURED), roleSettings };
}

const HONOURED: readonly Preference[] = ['count', 'tx', 'handling', 'timeZone', 'timeout'];
