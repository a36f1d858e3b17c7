import {
  distinctOrder,
  noAggregates,
  noAggregateOrder,
  noRelatedOrder,
  type DbrestFault,
  notGrouped,
  notSelected,
} from '../fault/index.ts';
import type { Field, Level, OrderKey, OrderTerm } from '../request/index.ts';
import type { Table } from '../schema/index.ts';
import { planAggregation } from './condition.ts';
import { addressed, type EmbedDraft } from './embed.ts';
import type { Aggregation, Context, Output, ReadNode, Sort, Value, Embed } from './node.ts';
import {
  aggregationOf,
  everyColumn,
  indexAmong,
  indexOfAggregation,
  isSame,
  isSameAggregation,
  planValue,
  rowFunctions,
} from './value.ts';

/** The rows that are ordered. */
interface SortScope {
  readonly table: Table;
  readonly embeds: readonly EmbedDraft[];
  readonly outputs: readonly Output[];
  readonly grouped: boolean;
  /** Only `distinct` groups the rows. */
  readonly isDistinct: boolean;
}

/** Plans the order of a level and its `distinct`. Throws a `DbrestFault`. */
export function planOrder(
  { order, distinct }: Pick<Level, 'order' | 'distinct'>,
  scope: SortScope,
  context: Context,
): Pick<ReadNode, 'sorts' | 'distinct'> {
  const sorts = order.map((term) => planSort(term, scope, context));
  if (distinct === 'rows' || distinct.length === 0) return { sorts, distinct: 0 };
  return distinctSorts(
    distinct.map((key) => planSort(key, scope, context)),
    sorts,
  );
}

/** Returns whether an order term is an aggregate of the rows themselves, for which they are grouped. */
export function isOfGroup(key: OrderKey): boolean {
  return 'aggregate' in key && key.relations === undefined;
}

/** Plans an order term. Throws a `DbrestFault` for an unknown field, and for an order by a field of a to-many embed. */
function planSort(term: OrderTerm, scope: SortScope, context: Context): Sort {
  const { direction, nulls, relations } = term;
  const key = relations ? relatedKey(term, scope, context) : ownKey(term, scope, context);
  const directed = direction ? { ...key, direction } : key;
  const sort = nulls ? { ...directed, nulls } : directed;
  return scope.grouped ? groupedSort(sort, { ...scope, isDerived: context.isDerived === true }) : sort;
}

/**
 * PostgreSQL keeps the first row of each combination only if the order begins with the keys of `distinct`. Throws 42P10
 * if it does not.
 */
function distinctSorts(keys: readonly Sort[], sorts: readonly Sort[]): { sorts: Sort[]; distinct: number } {
  const end = sorts.findIndex((sort) => !keys.some((key) => isSameKey(key, sort)));
  const leading = end < 0 ? sorts : sorts.slice(0, end);
  const missing = keys.filter((key, index) => {
    return ![...leading, ...keys.slice(0, index)].some((other) => isSameKey(key, other));
  });
  if (end >= 0 && missing.length > 0) throw distinctOrder();
  return {
    sorts: [...leading, ...missing, ...sorts.slice(leading.length)],
    distinct: leading.length + missing.length,
  };
}

function isSameKey(a: Sort, b: Sort): boolean {
  if (a.kind === 'value') return b.kind === 'value' && isSame(a.value, b.value);
  if (a.kind === 'output') return b.kind === 'output' && a.index === b.index;
  if (a.kind === 'related') return b.kind === 'related' && a.embed === b.embed && a.index === b.index;
  return b.kind === 'aggregation' && a.embed === b.embed && isSameAggregation(a.aggregation, b.aggregation);
}

/** An aggregate, also by the name that it has in the response, or a field of the rows. */
function ownKey(key: OrderKey, { table, outputs }: SortScope, context: Context): Sort {
  if ('aggregate' in key) {
    const aggregation = planAggregation(key, table, context);
    const same = indexOfAggregation(aggregation, outputs);
    return same === undefined ? { kind: 'aggregation', aggregation } : { kind: 'output', index: same };
  }
  const index = isOtherName(key, table, context) ? indexOfAggregate(key, outputs) : undefined;
  if (index !== undefined) return { kind: 'output', index };
  return { kind: 'value', value: planValue(key, table, context) };
}

/** Returns whether a field can only be the name of an output. */
function isOtherName({ column, path }: Field, table: Table, context: Context): boolean {
  return !path && !table.columns.has(column) && rowFunctions(table, column, context).length === 0;
}

function indexOfAggregate({ column }: Field, outputs: readonly Output[]): number | undefined {
  const index = outputs.findIndex((output) => {
    return output.kind !== 'all' && output.aggregate !== undefined && output.name === column;
  });
  return index < 0 ? undefined : index;
}

type RelatedKey = Extract<Sort, { readonly kind: 'related' | 'aggregation' }>;

/** A key of an embed: a field of a to-one embed, an aggregate of a to-many one, or a key below a to-one embed. */
function relatedKey(
  key: OrderKey,
  { table, embeds }: Pick<SortScope, 'table' | 'embeds'>,
  context: Context,
): RelatedKey {
  const [name = '', ...below] = key.relations ?? [];
  const embed = addressed(embeds, name, { itemOf: ({ item }) => item, context });
  const inside = { ...context, isDerived: 'returnsSet' in embed.by };
  embed.used = true;
  if (!embed.single) {
    const aggregation = below.length === 0 ? aggregationBelow(key, embed, inside) : undefined;
    if (!aggregation) throw noRelatedOrder(table.name, name);
    return { kind: 'aggregation', aggregation, embed };
  }
  if (below.length > 0) {
    const scope = { table: embed.node.table, embeds: embed.below };
    const found = relatedKey({ ...key, relations: below }, scope, inside);
    return { kind: 'related', embed, index: indexBelow(found, embed, context) };
  }
  if ('aggregate' in key) throw noAggregateOrder(table.name, name);
  const index = indexOfOutput(relatedValue(key, embed, inside), embed, context);
  return { kind: 'related', embed, index };
}

/** An aggregate of the rows of a to-many embed, which may be named as in the embed; `count` is the number of rows. */
function aggregationBelow(key: OrderKey, { node }: EmbedDraft, context: Context): Aggregation | undefined {
  const { table, outputs } = node;
  if ('aggregate' in key) return planAggregation(key, table, context);
  if (!isOtherName(key, table, context)) return undefined;
  const output = outputs[indexOfAggregate(key, outputs) ?? -1];
  const named = output && aggregationOf(output);
  const found = named ?? (key.column === 'count' ? ({ aggregate: 'count' } as const) : undefined);
  if (found && context.aggregates === false) throw noAggregates();
  return found;
}

/**
 * The value of a related order: an aliased output of the embed, else a field of its table. For a spread embed the index
 * of the output.
 */
function relatedValue(field: Field, { node, shown, spread }: EmbedDraft, context: Context): Value | number {
  const { column, path } = field;
  const index = node.outputs.findIndex((output) => output.kind !== 'all' && output.name === column);
  const output = node.outputs[index];
  const isAlias = output && index < shown && !path && !node.table.columns.has(column);
  if (isAlias && spread) return index;
  if (isAlias && output.kind === 'value' && !output.cast && !output.aggregate) return output.value;
  return planValue(field, node.table, context);
}

/** The index of a value among the outputs of an embed; it is appended if no shown output is this value alone. */
function indexOfOutput(value: Value | number, embed: EmbedDraft, context: Context): number {
  if (typeof value === 'number') return value;
  const shown = embed.spread ? indexAmong(value, embed.node.outputs) : undefined;
  return shown ?? indexOfHidden({ kind: 'value', value, name: '' }, embed, context);
}

/** The index of a key of an embed below a to-one embed, among the outputs of the to-one embed. */
function indexBelow(key: RelatedKey, around: EmbedDraft, context: Context): number {
  const { embeds } = around.node;
  const below = key.embed as EmbedDraft;
  // An embed without columns is left out unless something needs it.
  if (!embeds.includes(below)) embeds.push(below);
  return key.kind === 'related'
    ? indexOfHidden({ kind: 'spread', embed: below, index: key.index, name: '' }, around, context)
    : indexOfHidden(
        { kind: 'aggregation', embed: below, aggregation: key.aggregation, name: '' },
        around,
        context,
      );
}

/** The index of an output that is not shown; it is appended unless it is there already. */
function indexOfHidden(hidden: Output, embed: EmbedDraft, { known }: Context): number {
  const { outputs, table } = embed.node;
  const same = outputs.findIndex((output, index) => index >= embed.shown && isSameHidden(output, hidden));
  if (same >= 0) return same;
  const named = outputs.flatMap((output) => everyColumn(output, table, known));
  embed.shown += named.length - outputs.length;
  outputs.splice(0, outputs.length, ...named);
  return outputs.push(hidden) - 1;
}

function isSameHidden(a: Output, b: Output): boolean {
  if (a.kind === 'value') return b.kind === 'value' && isSame(a.value, b.value);
  if (a.kind === 'spread') return b.kind === 'spread' && a.embed === b.embed && a.index === b.index;
  if (a.kind !== 'aggregation' || b.kind !== 'aggregation' || a.embed !== b.embed) return false;
  return isSameAggregation(a.aggregation, b.aggregation);
}

/** Grouped rows: their outputs and their source. */
interface GroupedRows {
  readonly outputs: readonly Output[];
  readonly table: Table;
  /** The rows come from a function or a write instead of the table. */
  readonly isDerived: boolean;
  /** Only `distinct` groups the rows. */
  readonly isDistinct: boolean;
}

/**
 * The order of grouped rows. It refers to an output where it can, because PostgreSQL would not recognise an equal
 * expression as the same. Throws 42803 for an order by anything else, 42P10 if the rows are distinct.
 */
function groupedSort(sort: Sort, rows: GroupedRows): Sort {
  switch (sort.kind) {
    case 'output':
      return sort;
    case 'related':
      return groupedRelatedSort(sort, rows);
    case 'aggregation': {
      const missing = sort.embed && ungroupedTie(sort.embed, rows);
      if (missing !== undefined) throw ungrouped(rows.table, missing, rows);
      return sort;
    }
    case 'value': {
      const { value, ...ordering } = sort;
      const index = indexAmong(value, rows.outputs);
      if (index !== undefined) return { ...ordering, kind: 'output', index };
      const { of } = value;
      const isColumn = of.kind === 'column';
      if (isDetermined(rows) || (isColumn && groupedColumns(rows.outputs).has(of.column.name))) return sort;
      throw ungrouped(rows.table, isColumn ? of.column.name : '*', rows);
    }
  }
}

function ungrouped(table: Table, column: string, { isDistinct }: GroupedRows): DbrestFault {
  return isDistinct ? notSelected() : notGrouped(table.name, column);
}

/** A column that joins the rows with an embed and by which they are not grouped, if there is one. */
function ungroupedTie({ by }: Embed, rows: GroupedRows): string | undefined {
  if (isDetermined(rows)) return undefined;
  if (!('pairs' in by)) return '*';
  const columns = groupedColumns(rows.outputs);
  return by.pairs.map(([own]) => own).find((name) => !columns.has(name));
}

function groupedRelatedSort(sort: Sort & { kind: 'related' }, rows: GroupedRows): Sort {
  const { embed, index } = sort;
  const isGrouped = rows.outputs.some((output) => {
    if (output.kind === 'embed') return output.embed === embed;
    return output.kind === 'spread' && output.embed === embed && output.index === index && !output.aggregate;
  });
  if (isGrouped) return sort;
  const { outputs, table } = embed.node;
  throw ungrouped(table, relatedName(outputs[index]), rows);
}

function relatedName(output: Output | undefined): string {
  if (!output || output.kind === 'all') return '*';
  const isColumn = output.kind === 'value' && output.value.of.kind === 'column';
  return isColumn ? output.value.of.column.name : output.name;
}

/** The columns by whose own values the rows are grouped. */
function groupedColumns(outputs: readonly Output[]): ReadonlySet<string> {
  return new Set(
    outputs.flatMap((output) => {
      if (output.kind !== 'value' || output.aggregate || output.cast !== undefined || output.through)
        return [];
      const { of, path } = output.value;
      return of.kind === 'column' && path.length === 0 ? [of.column.name] : [];
    }),
  );
}

/** With the primary key of a table, PostgreSQL knows all other columns of a group. */
function isDetermined({ outputs, table: { primaryKey, isView }, isDerived }: GroupedRows): boolean {
  if (isDerived || isView || primaryKey.length === 0) return false;
  const columns = groupedColumns(outputs);
  return primaryKey.every((name) => columns.has(name));
}
