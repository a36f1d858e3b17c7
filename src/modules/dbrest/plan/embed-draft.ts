import type { SelectedEmbed } from '../request/index.ts';
import type { Embed, Output, ReadNode } from './read-plan.ts';

/** An embed while the node around it is planned: its filters and its order may still need more of it. */
export interface EmbedDraft extends Embed {
  readonly item: SelectedEmbed;
  readonly node: ReadNode & { outputs: Output[] };
  used: boolean;
  tests: number;
  shown: number;
}

/** What an embed is called: in the answer, and in filters, orders and limits. */
export function nameOf({ alias, target }: SelectedEmbed): string {
  return alias ?? target;
}

/** The embed of a name; the name behind an alias counts where nothing else has it and `by` allows. */
export function embedNamed(
  embeds: readonly EmbedDraft[],
  name: string,
  by: 'shown name' | 'any name',
): EmbedDraft | undefined {
  const shown = embeds.find(({ item }) => nameOf(item) === name);
  return shown ?? (by === 'any name' ? embeds.find(({ item }) => item.target === name) : undefined);
}
