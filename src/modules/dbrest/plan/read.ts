import { type DbrestFault, noAggregates, noTable } from '../fault/index.ts';
import {
  type Media,
  only,
  type Preference,
  type Preferences,
  type ReadQuery,
  type ReadRequest,
  rowLimitOf,
  type SelectedColumn,
  type SelectedCount,
  type SelectedEmbed,
  type SelectItem,
} from '../request/index.ts';
import { mayUse, type RoleSettings, type Schema, similarTable, type Table } from '../schema/index.ts';
import { isByKey, planCondition, planGroupCondition } from './condition.ts';
import {
  asEmbed,
  type EmbedDraft,
  type EmbedSource,
  findEmbedSource,
  levelsBelow,
  type PlannedNode,
} from './embed.ts';
import { type FormContext, mostRows, readShape, type RowForm, shownMedia, tailOfRead } from './form.ts';
import type { Context, LevelAt, Output, ReadPlan, ReadTarget } from './node.ts';
import { isOfGroup, planOrder } from './sort.ts';
import { castType, everyColumn, isRepresented, planValue, rowFunctions, shownThrough } from './value.ts';

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
 * Interprets `count` as the number of rows if there is no such column, as PostgreSQL does with `orders.count`. Clients
 * used this form before aggregates existed, so it works alone even where aggregates are disabled.
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

/** The parsed request for one node and those below it. */
interface NodeQuery {
  readonly select: readonly SelectItem[];
  readonly levels: readonly LevelAt[];
  readonly spread: boolean;
  /** Most rows, whatever the request says. */
  readonly most: number;
}

const EVERYTHING: LevelAt = { path: [], filters: [], having: [], distinct: [], order: [], offset: 0 };

/** Plans a node and its embeds, depth first. Throws a `DbrestFault`. */
function planNode(table: Table, query: NodeQuery, context: Context): PlannedNode {
  const { select, levels, spread, most } = query;
  const { outputs, embeds } = planSelect(table, query, context);
  const isAggregated = outputs.some(isAggregate);
  const isBareCount = select.length === 1 && select[0]?.kind === 'column' && outputs[0]?.kind === 'rows';
  if (isAggregated && !isBareCount && context.aggregates === false) throw noAggregates();
  const level = levels.find(({ path }) => path.length === 0) ?? EVERYTHING;
  const isGrouped = isAggregated || isGroupedBy(level);
  const isDistinct = !isGrouped && level.distinct === 'rows';
  const grouped = isGrouped || isDistinct;
  const limit = Math.min(level.limit ?? Infinity, most);
  const named =
    spread || grouped ? outputs.flatMap((output) => everyColumn(output, table, context.known)) : outputs;
  const { sorts, distinct } = planOrder(
    level,
    { table, embeds, outputs: named, grouped, isDistinct },
    context,
  );
  const scope = { table, embeds, outputs };
  const conditions = level.filters.map((filter) => planCondition(filter, scope, context));
  const having = level.having.map((filter) => planGroupCondition(filter, table, context));
  const node = {
    table,
    outputs: named,
    conditions,
    sorts,
    embeds: embeds.filter((embed) => isNeeded(embed, outputs)),
    ...(limit !== Infinity && { limit }),
    offset: level.offset,
    grouped,
    having,
    distinct,
  };
  return { node, embeds, isAggregated: isGrouped };
}

/** Plans the outputs of a node and, below them, its embeds. Throws a `DbrestFault`. */
function planSelect(
  table: Table,
  { select, levels }: NodeQuery,
  context: Context,
): { readonly outputs: readonly Output[]; readonly embeds: readonly EmbedDraft[] } {
  const items = select.filter((item) => item.kind === 'embed');
  const below = levelsBelow(levels, items, context);
  const embeds: EmbedDraft[] = [];
  const outputs = select.flatMap((item): readonly Output[] => {
    if (item.kind !== 'embed') return planOutput(item, table, context);
    const source = findEmbedSource(item, table, context);
    const asked = {
      select: item.select,
      spread: item.spread,
      levels: below.get(item) ?? [],
      most: mostOf(source, context),
    };
    const inside = { ...context, isDerived: 'returnsSet' in source.by };
    const { draft, shows } = asEmbed(item, source, planNode(source.target, asked, inside));
    embeds.push(draft);
    return shows;
  });
  return { outputs, embeds };
}

/** Returns whether the rows of a level are grouped, whatever is selected. */
function isGroupedBy({ having, order, distinct }: LevelAt): boolean {
  return having.length > 0 || order.some(isOfGroup) || (distinct !== 'rows' && distinct.some(isOfGroup));
}

/** A function that is declared with `rows 1` may return more rows. */
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
  const { select, embedded, filters, having, distinct, order, limit, offset } = request;
  const bounds = { ...(limit !== undefined && { limit }), offset };
  const levels = [{ path: [], filters, having, distinct, order, ...bounds }, ...embedded];
  const items: ReadQuery['select'] = select.length === 0 ? [{ kind: 'all' }] : select;
  const most = rowLimitOf(context.maxRows, context.table) ?? Infinity;
  return planNode(table, { select: items, levels, spread: false, most }, context).node;
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
  // Neither a count nor the result of a handler is a row with a version.
  const version = isOne && shape !== 'handled' && shape !== 'counted' ? column : undefined;
  const tail = tailOfRead(media, shape, { rows, version });
  const form = { media, shape, most: mostRows(shown, shape, isBodyless), tail };
  return { kind, request, rows, form, preferences: only(preferences, HONOURED), roleSettings };
}

const HONOURED: readonly Preference[] = ['count', 'tx', 'handling', 'timeZone', 'timeout'];
