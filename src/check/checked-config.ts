import { BlockView, groupBy } from '../config/index.ts';
import type { Context } from '../config/index.ts';
import type { CheckedConfig, Use } from './rule.ts';

type Parts = Pick<CheckedConfig, 'tree' | 'bound' | 'registry' | 'modules' | 'plan'>;

/** A configuration as rules see it; blocks and uses are indexed on their first question. */
export function checkedConfig(parts: Parts): CheckedConfig {
  const { bound, registry, tree } = parts;
  const main = new BlockView(bound.main, { registry, directives: tree.directives });
  let all: readonly BlockView[] | undefined;
  let byName: ReadonlyMap<string, readonly Use[]> | undefined;
  const blocks = (): readonly BlockView[] => (all ??= inFileOrder(main));
  const uses = (): ReadonlyMap<string, readonly Use[]> => (byName ??= usesOf(blocks()));
  return {
    ...parts,
    main,
    blocks: (...contexts: readonly Context[]) =>
      contexts.length === 0 ? blocks() : blocks().filter(({ context }) => contexts.includes(context)),
    uses: (...names) => names.flatMap((name) => uses().get(name) ?? []),
  };
}

function inFileOrder(main: BlockView): readonly BlockView[] {
  const found: BlockView[] = [];
  const waiting = [main];
  for (let block = waiting.pop(); block; block = waiting.pop()) {
    found.push(block);
    waiting.push(...block.inner.toReversed());
  }
  return found;
}

function usesOf(blocks: readonly BlockView[]): ReadonlyMap<string, readonly Use[]> {
  const all = blocks.flatMap((block) => block.own().map((node) => ({ node, block })));
  return groupBy(all, ({ node }) => node.name.value);
}
