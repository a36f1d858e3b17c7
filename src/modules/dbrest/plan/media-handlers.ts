import type { MediaHandler } from '../schema/index.ts';
import type { Context } from './context.ts';
import type { ReadPlan } from './read-plan.ts';

/** The aggregates that can take the rows of a read, nearest first: those of its table need all of its columns. */
export function mediaHandlersOf(
  plan: ReadPlan,
  { known, schema, searchPath = [schema] }: Context,
): MediaHandler[] {
  const handlers = known.mediaHandlers ?? [];
  if (handlers.length === 0) return [];
  const { table, outputs, embeds } = plan;
  const isWhole = embeds.length === 0 && outputs.every(({ kind }) => kind === 'all');
  const isOwn = (one: MediaHandler): boolean => {
    return isWhole && one.table?.schema === table.schema && one.table.name === table.name;
  };
  const near = [...new Set(searchPath)].flatMap((place) => handlers.filter((one) => one.schema === place));
  return [...near.filter(isOwn), ...near.filter((one) => !one.table)];
}
