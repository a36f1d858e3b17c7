import { noAggregates, noRelatedOrder, noTable, notEmbedded } from '../fault/index.ts';
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
import { type RoleSettings, type Schema, similarTable, type Table } from '../schema/index.ts';
import { type NodeScope, planCondition } from './condition.ts';
import { asEmbed, type EmbedDraft, embedNamed, findEmbedSource, levelsBelow } from './embed.ts';
import { mostRows, type RowForm, shapeOf, shownMedia, tailOf } from './form.ts';
import type { Context, LevelAt, Output, ReadNode, ReadPlan, ReadTarget, Sort, Value } from './node.ts';
import {
  castType,
  everyColumn,
  isRepresented,
  indexAmong,
  planValue,
  rowFunctions,
  shownThrough,
} from './value.ts';

/** Throws 42703 for a column that is not there, and what a bad cast throws. */
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

/** Throws what a bad cast throws. */
function planCount({ alias = 'count', cast }: SelectedCount, context: Context): Output {
  const shown = { kind: 'rows', name: alias, aggregate: 'count' } as const;
  return cast === undefined ? shown : { ...shown, aggregateCast: castType(cast, context) };
}

/**
 * `orders(count)`: where no column is called so, the number of rows, as PostgreSQL itself reads `orders.count`. Clients
 * wrote it before there were aggregates, so that it stands where aggregates are off, alone.
 */
function countColumn(item: SelectedColumn, table: Table, context: Context): SelectedCount | undefined {
  const { column, path, aggregate, alias, cast } = item;
  if (column !== 'count' || path || aggregate || table.columns.has(column)) return undefined;
  if (rowFunctions(table, column, context).length > 0) return undefined;
  return { kind: 'count', ...(alias !== undefined && { alias }), ...(cast && { cast }) };
}

/** The alias, else what is done to the column, else the last key of its path, else the column. */
function outputName({ alias, aggregate, path = [], column }: SelectedColumn): string {
  const key = path.findLast((step) => typeof step.key === 'string')?.key;
  return alias ?? aggregate ?? (key as string | undefined) ?? column;
}

/** Throws a `DbrestFault` for a field that is not there, or an embed that has no or many rows to order by. */
function planSort(term: OrderTerm, { table, embeds }: NodeScope, context: Context): Sort {
  const { relation, direction, nulls } = term;
  const ordering = { ...(direction && { direction }), ...(nulls && { nulls }) };
  if (relation === undefined) return { kind: 'value', value: planValue(term, table, context), ...ordering };
  const embed = embedNamed(embeds, relation, 'any name');
  if (!embed) throw notEmbedded(relation);
  if (!embed.single) throw noRelatedOrder(table.name, relation);
  embed.used = true;
  const index = indexOfOutput(relatedValue(term, embed, context), embed, context);
  return { kind: 'related', embed, index, ...ordering };
}

/** A field of an embed's table, or what the embed shows under a name that no column has: in a spread by its place. */
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

/** The place of a value among the outputs of an embed; put behind those that are shown unless it stands alone there. */
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

/** Where rows are grouped, their order is one of what they are grouped by: the same expression, not one like it. */
function groupedSort(sort: Sort, outputs: readonly Output[]): Sort {
  if (sort.kind !== 'value') return sort;
  const { value, ...ordering } = sort;
  const index = indexAmong(value, outputs);
  return index === undefined ? sort : { ...ordering, kind: 'output', index };
}

/** What a request says of one node and of all below it. */
interface NodeQuery {
  readonly select: readonly SelectItem[];
  readonly levels: readonly LevelAt[];
  readonly spread: boolean;
}

const EVERYTHING: LevelAt = { path: [], filters: [], order: [], offset: 0 };

/** Checks what is asked of a table against the schema, depth first. Throws a `DbrestFault`. */
function planNode(table: Table, { select, levels, spread }: NodeQuery, context: Context): ReadNode {
  const items = select.filter((item) => item.kind === 'embed');
  const below = levelsBelow(levels, items);
  const embeds: EmbedDraft[] = [];
  const outputs = select.flatMap((item): readonly Output[] => {
    if (item.kind !== 'embed') return planOutput(item, table, context);
    const source = findEmbedSource(item, table, context);
    const asked = { select: item.select, levels: below.get(item) ?? [], spread: item.spread };
    const { draft, shows } = asEmbed(item, source, planNode(source.target, asked, context));
    embeds.push(draft);
    return shows;
  });
  const grouped = outputs.some(isAggregate);
  const isBareCount = select.length === 1 && select[0]?.kind === 'column' && outputs[0]?.kind === 'rows';
  if (grouped && !isBareCount && context.aggregates === false) throw noAggregates();
  const level = levels.find(({ path }) => path.length === 0) ?? EVERYTHING;
  const scope = { table, embeds };
  const limit = Math.min(level.limit ?? Infinity, context.maxRows ?? Infinity);
  const sorts = level.order.map((term) => planSort(term, scope, context));
  const named =
    spread || grouped ? outputs.flatMap((output) => everyColumn(output, table, context.known)) : outputs;
  return {
    table,
    outputs: named,
    conditions: level.filters.map((filter) => planCondition(filter, scope, context)),
    sorts: grouped ? sorts.map((sort) => groupedSort(sort, named)) : sorts,
    embeds: embeds.filter((embed) => isNeeded(embed, outputs)),
    ...(limit !== Infinity && { limit }),
    offset: level.offset,
    grouped,
  };
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

/** Whether an embed is shown or has a say in which rows come, and in which order. */
function isNeeded(embed: EmbedDraft, outputs: readonly Output[]): boolean {
  return embed.inner || embed.used || outputs.some((output) => 'embed' in output && output.embed === embed);
}

/** Checks a request against the schema: every name in the result is the schema's. Throws a `DbrestFault`. */
export function planRead(request: ReadQuery, target: ReadTarget, known: Schema): ReadPlan {
  const table = known.tables.get(target.schema)?.get(target.table);
  if (!table) throw noTable(target.schema, target.table, similarTable(target, target.role, known));
  return planRows(request, table, { ...target, known });
}

/** The same for rows of a table that is known already, wherever they come from. */
export function planRows(request: ReadQuery, table: Table, context: Context): ReadPlan {
  const { select, embedded, filters, order, limit, offset } = request;
  const root = { path: [], filters, order, ...(limit !== undefined && { limit }), offset };
  const levels = [root, ...embedded];
  const items: ReadQuery['select'] = select.length === 0 ? [{ kind: 'all' }] : select;
  return planNode(table, { select: items, levels, spread: false }, context);
}

/** A read whose names were found. */
export interface FoundRead {
  readonly kind: 'read';
  readonly request: ReadRequest;
  readonly rows: ReadPlan;
}

/** A read, and in which form it is shown. */
export interface PlannedRead extends FoundRead {
  readonly form: RowForm;
  /** Those that a read honours. */
  readonly preferences: Preferences;
  readonly roleSettings: RoleSettings | undefined;
}

/** Throws a `DbrestFault`. */
export function findRead(request: ReadRequest, context: Context): FoundRead {
  return { kind: 'read', request, rows: planRead(request.query, context, context.known) };
}

export function formRead(
  { kind, request, rows }: FoundRead,
  media: Media,
  roleSettings: RoleSettings | undefined,
): PlannedRead {
  const { method, preferences } = request.head;
  const shown = shownMedia(media);
  const shape = shapeOf(shown, rows.limit);
  const form = { media, shape, most: mostRows(shown, shape, method), tail: tailOf(media, shape) };
  return { kind, request, rows, form, preferences: only(preferences, HONOURED), roleSettings };
}

const HONOURED: readonly Preference[] = ['count', 'tx', 'handling', 'timeZone'];
