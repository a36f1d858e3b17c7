import { noAggregates } from '../fault/index.ts';
import type { SelectedEmbed, SelectItem } from '../request/index.ts';
import type { Table } from '../schema/index.ts';
import type { Context, LevelAt } from './context.ts';
import type { EmbedDraft } from './embed-draft.ts';
import { everyColumn, isRepresented } from './every-column.ts';
import { findWay } from './find-way.ts';
import { planCondition } from './plan-condition.ts';
import { asEmbed, levelsBelow } from './plan-embed.ts';
import { groupedSort, planSort } from './plan-order.ts';
import { countColumn, planColumn, planCount } from './plan-output.ts';
import type { Output, ReadNode } from './read-plan.ts';

/** What a request says of one node and of all below it. */
interface Asked {
  readonly select: readonly SelectItem[];
  readonly levels: readonly LevelAt[];
  readonly spread: boolean;
}

const EVERYTHING: LevelAt = { path: [], filters: [], order: [], offset: 0 };

/** Checks what is asked of a table against the schema, depth first. Throws a `DbrestFault`. */
export function planNode(table: Table, { select, levels, spread }: Asked, context: Context): ReadNode {
  const items = select.filter((item) => item.kind === 'embed');
  const below = levelsBelow(levels, items);
  const embeds: EmbedDraft[] = [];
  const outputs = select.flatMap((item): readonly Output[] => {
    if (item.kind !== 'embed') return planOutput(item, table, context);
    const way = findWay(item, table, context);
    const asked = { select: item.select, levels: below.get(item) ?? [], spread: item.spread };
    const { draft, shows } = asEmbed(item, way, planNode(way.target, asked, context));
    embeds.push(draft);
    return shows;
  });
  const grouped = outputs.some(isAggregate);
  const isBareCount = select.length === 1 && select[0]?.kind === 'column' && outputs[0]?.kind === 'rows';
  if (grouped && !isBareCount && context.aggregates === false) throw noAggregates();
  const level = levels.find(({ path }) => path.length === 0) ?? EVERYTHING;
  const place = { table, embeds };
  const limit = Math.min(level.limit ?? Infinity, context.maxRows ?? Infinity);
  const sorts = level.order.map((term) => planSort(term, place, context));
  const named =
    spread || grouped ? outputs.flatMap((output) => everyColumn(output, table, context.known)) : outputs;
  return {
    table,
    outputs: named,
    conditions: level.filters.map((filter) => planCondition(filter, place, context)),
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
