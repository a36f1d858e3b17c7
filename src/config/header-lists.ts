import type { DirectiveNode } from '../../grammar/index.ts';
import type { BlockView } from './block-view.ts';

/** A level whose own headers drop those of the level above: that is how nginx inherits lists. */
export interface Dropping {
  /** The first header of this level. */
  readonly at: DirectiveNode;
  /** Headers of the level above whose names do not come again here. */
  readonly dropped: readonly DirectiveNode[];
  /** Other headers of the level above have another value here: merging would send both. */
  readonly replaces: boolean;
}

/** What a block drops by setting headers of its own with `directive`. */
export function droppedIn(block: BlockView, directive: string): Dropping | undefined {
  const [at] = block.own(directive);
  if (!at || !block.outer) return undefined;
  const kept = new Set(block.effective(directive));
  const names = byHeader([...kept]);
  const above = [...byHeader(block.outer.effective(directive))].filter(([, node]) => !kept.has(node));
  const dropped = above.flatMap(([name, node]) => (names.has(name) ? [] : [node]));
  return dropped.length > 0 ? { at, dropped, replaces: dropped.length < above.length } : undefined;
}

/** The name of a header, as it is written. */
export function headerOf({ args }: DirectiveNode): string {
  return args[0]?.value ?? '';
}

/** Directives `name value` by name in lower case; the first of a name counts. */
export function byHeader(nodes: readonly DirectiveNode[]): ReadonlyMap<string, DirectiveNode> {
  const found = new Map<string, DirectiveNode>();
  for (const node of nodes) {
    const name = node.args[0]?.value.toLowerCase();
    if (name !== undefined && !found.has(name)) found.set(name, node);
  }
  return found;
}
