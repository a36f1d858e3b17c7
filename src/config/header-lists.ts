import type { DirectiveNode } from '../../grammar/index.ts';
import type { BlockView } from './block-view.ts';

/** A block whose own headers replace the inherited ones, as nginx inherits lists. */
export interface Dropping {
  /** The first header of the block. */
  readonly at: DirectiveNode;
  /** Inherited headers that the block does not set again. */
  readonly dropped: readonly DirectiveNode[];
  /** True if the block gives another inherited header a new value: merging would send both. */
  readonly replaces: boolean;
}

/** The headers that a block loses because it sets its own with `directive`; `undefined` if it loses none. */
export function droppedIn(block: BlockView, directive: string): Dropping | undefined {
  const [at] = block.own(directive);
  if (!at || !block.outer) return undefined;
  const kept = new Set(block.effective(directive));
  const names = byHeader([...kept]);
  const above = [...byHeader(block.outer.effective(directive))].filter(([, node]) => !kept.has(node));
  const dropped = above.flatMap(([name, node]) => (names.has(name) ? [] : [node]));
  return dropped.length > 0 ? { at, dropped, replaces: dropped.length < above.length } : undefined;
}

/** The name of a header as written. */
export function headerOf({ args }: DirectiveNode): string {
  return args[0]?.value ?? '';
}

/** Header directives by name in lower case; the first one of a name counts. */
export function byHeader(nodes: readonly DirectiveNode[]): ReadonlyMap<string, DirectiveNode> {
  const found = new Map<string, DirectiveNode>();
  for (const node of nodes) {
    const name = node.args[0]?.value.toLowerCase();
    if (name !== undefined && !found.has(name)) found.set(name, node);
  }
  return found;
}
