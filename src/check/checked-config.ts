import { BlockView, type Context, groupBy } from '../config/index.ts';
import type { CheckedConfig, Use } from './rule.ts';

/** A function of an object whose answer is worked out at the first question and kept as long as the object lives. */
export function oncePer<K extends object, V>(answer: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    let kept = known.get(key);
    if (!kept) known.set(key, (kept = { value: answer(key) }));
    return kept.value;
  };
}

type Parts = Pick<CheckedConfig, 'tree' | 'bound' | 'registry' | 'modules' | 'plan'>;

/** A configuration as rules see it; blocks and uses are indexed on their first question. */
export function checkedConfig(parts: Parts): CheckedConfig {
  const { bound, registry, tree } = parts;
  const main = new BlockView(bound.main, { registry, directives: tree.directives });
  let all: readonly BlockView[] | undefined;
  let byContext: ReadonlyMap<Context, readonly BlockView[]> | undefined;
  let byName: ReadonlyMap<string, readonly Use[]> | undefined;
  const blocks = (): readonly BlockView[] => (all ??= inFileOrder(main));
  const blocksIn = (context: Context): readonly BlockView[] =>
    (byContext ??= groupBy(blocks(), (block) => block.context)).get(context) ?? [];
  const uses = (): ReadonlyMap<string, readonly Use[]> => (byName ??= usesOf(blocks()));
  return {
    ...parts,
    main,
    blocks: (...contexts: readonly Context[]) => {
      const [context] = contexts;
      if (context === undefined) return blocks();
      // A rule may ask for each upstream of ten thousand locations.
      if (contexts.length === 1) return blocksIn(context);
      return blocks().filter((block) => contexts.includes(block.context));
    },
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

/** The blocks in which one of these directives stands, each once. */
export function blocksWith(config: CheckedConfig, ...directives: readonly string[]): ReadonlySet<BlockView> {
  return new Set(config.uses(...directives).map(({ block }) => block));
}
