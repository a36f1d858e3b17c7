import { noRelatedOrder, notEmbedded } from '../fault/index.ts';
import type { OrderTerm } from '../request/index.ts';
import type { Context } from './context.ts';
import type { EmbedDraft } from './embed-draft.ts';
import { embedNamed } from './embed-draft.ts';
import { everyColumn } from './every-column.ts';
import type { Place } from './plan-condition.ts';
import type { Output, Sort, Value } from './read-plan.ts';
import { placeAmong, planValue } from './value.ts';

/** Throws a `DbrestFault` for a field that is not there, or an embed that has no or many rows to order by. */
export function planSort(term: OrderTerm, { table, embeds }: Place, context: Context): Sort {
  const { relation, direction, nulls } = term;
  const way = { ...(direction && { direction }), ...(nulls && { nulls }) };
  if (relation === undefined) return { kind: 'value', value: planValue(term, table, context), ...way };
  const embed = embedNamed(embeds, relation, 'any name');
  if (!embed) throw notEmbedded(relation);
  if (!embed.single) throw noRelatedOrder(table.name, relation);
  embed.used = true;
  const place = placeOf(relatedValue(term, embed, context), embed, context);
  return { kind: 'related', embed, place, ...way };
}

/** A field of an embed's table, or what the embed shows under a name that no column has: in a spread by its place. */
function relatedValue(
  term: OrderTerm,
  { node, shown, spread }: EmbedDraft,
  context: Context,
): Value | number {
  const { column, path } = term;
  const place = node.outputs.findIndex((output) => output.kind !== 'all' && output.name === column);
  const output = node.outputs[place];
  const isAlias = output && place < shown && !path && !node.table.columns.has(column);
  if (isAlias && spread) return place;
  if (isAlias && output.kind === 'value' && !output.cast && !output.aggregate) return output.value;
  return planValue(term, node.table, context);
}

/** The place of a value among the outputs of an embed; put behind those that are shown unless it stands alone there. */
function placeOf(value: Value | number, embed: EmbedDraft, { known }: Context): number {
  if (typeof value === 'number') return value;
  const { outputs, table } = embed.node;
  const shown = embed.spread ? placeAmong(value, outputs) : undefined;
  if (shown !== undefined) return shown;
  const named = outputs.flatMap((output) => everyColumn(output, table, known));
  embed.shown += named.length - outputs.length;
  outputs.splice(0, outputs.length, ...named);
  return outputs.push({ kind: 'value', value, name: '' }) - 1;
}

/** Where rows are grouped, their order is one of what they are grouped by: the same expression, not one like it. */
export function groupedSort(sort: Sort, outputs: readonly Output[]): Sort {
  if (sort.kind !== 'value') return sort;
  const { value, ...way } = sort;
  const place = placeAmong(value, outputs);
  return place === undefined ? sort : { ...way, kind: 'output', place };
}
