import { notEmbedded, toManyAggregate } from '../fault/index.ts';
import type { SelectedEmbed } from '../request/index.ts';
import type { LevelAt } from './context.ts';
import type { EmbedDraft } from './embed-draft.ts';
import { nameOf } from './embed-draft.ts';
import type { Way } from './find-way.ts';
import type { Output, ReadNode } from './read-plan.ts';

/** An embed, and what the rows around it show of it. */
export interface PlannedEmbed {
  readonly draft: EmbedDraft;
  readonly shows: readonly Output[];
}

/** An embed whose own rows are planned. Throws PGRST127 for aggregates in a spread of many. */
export function asEmbed(item: SelectedEmbed, way: Way, planned: ReadNode): PlannedEmbed {
  if (item.spread && !way.single && planned.grouped) throw toManyAggregate();
  // What a spread embed counts or sums up is a matter of the rows around it.
  const node = item.spread
    ? { ...planned, outputs: planned.outputs.map(withoutAggregate), grouped: false }
    : { ...planned, outputs: [...planned.outputs] };
  const draft: EmbedDraft = {
    item,
    node,
    by: way.by,
    single: way.single,
    spread: item.spread,
    inner: item.join === 'inner',
    used: false,
    tests: 0,
    shown: planned.outputs.length,
  };
  return { draft, shows: showsOf(draft, planned.outputs) };
}

function withoutAggregate(output: Output): Output {
  if (output.kind === 'all') return output;
  const { aggregate: _, aggregateCast: __, ...plain } = output;
  return plain;
}

/** Its JSON, or each output of a spread embed. */
function showsOf(embed: EmbedDraft, outputs: readonly Output[]): Output[] {
  if (!embed.spread) return embed.shown === 0 ? [] : [{ kind: 'embed', embed, name: nameOf(embed.item) }];
  return outputs.map((output, place): Output => {
    if (output.kind === 'all') throw new Error('a spread embed names its columns');
    const { name, aggregate, aggregateCast } = output;
    return {
      kind: 'spread',
      embed,
      place,
      name,
      ...(aggregate && { aggregate }),
      ...(aggregateCast !== undefined && { aggregateCast }),
    };
  });
}

/** The levels below each embed, their paths cut by its name. Throws PGRST108 for a name that nothing has. */
export function levelsBelow(
  levels: readonly LevelAt[],
  items: readonly SelectedEmbed[],
): Map<SelectedEmbed, LevelAt[]> {
  const below = new Map<SelectedEmbed, LevelAt[]>(items.map((item) => [item, []]));
  for (const level of levels) {
    const [name] = level.path;
    if (name === undefined) continue;
    const item = items.find((embed) => nameOf(embed) === name) ?? items.find(({ target }) => target === name);
    if (!item) throw notEmbedded(name);
    below.get(item)?.push({ ...level, path: level.path.slice(1) });
  }
  return below;
}
