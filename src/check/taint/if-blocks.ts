import type { BlockView } from '../../config/index.ts';

const known = new WeakMap<BlockView, readonly BlockView[]>();

/** The `if` blocks that stand in a block itself: few, beside thousands of locations. */
export function ifBlocks(block: BlockView): readonly BlockView[] {
  const found = known.get(block) ?? block.inner.filter(({ context }) => context.endsWith(' if'));
  known.set(block, found);
  return found;
}
