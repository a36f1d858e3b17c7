import { BlockView, type Context, groupBy } from '../../config/index.ts';
import type { Use } from '../../contract/index.ts';
import { addressText, type PortPlan } from '../../plan/index.ts';
import { type ConfigOfModules, exposed, isOpen, isPublic, rejectsEmpty } from './exposure.ts';
import { upstreamNamed } from './upstreams.ts';
import { textsOf } from './variables.ts';

/** `ports` are those of the plan; a configuration that does not load has none. */
type Parts = Pick<ConfigOfModules, 'tree' | 'bound' | 'registry' | 'modules'> & {
  readonly ports?: readonly PortPlan[] | undefined;
};

/** A configuration for rules; blocks and uses are indexed on first use. */
export function checkedConfig({ tree, bound, registry, modules, ports = [] }: Parts): ConfigOfModules {
  const main = new BlockView(bound.main, { registry, directives: tree.directives });
  let all: readonly BlockView[] | undefined;
  let byContext: ReadonlyMap<Context, readonly BlockView[]> | undefined;
  let byName: ReadonlyMap<string, readonly Use[]> | undefined;
  const blocks = (): readonly BlockView[] => (all ??= inFileOrder(main));
  const blocksIn = (context: Context): readonly BlockView[] =>
    (byContext ??= groupBy(blocks(), (block) => block.context)).get(context) ?? [];
  const usesByName = (): ReadonlyMap<string, readonly Use[]> => (byName ??= usesOf(blocks()));
  const uses = (...names: readonly string[]): readonly Use[] =>
    names.flatMap((name) => usesByName().get(name) ?? []);
  const config: ConfigOfModules = {
    main,
    tree,
    bound,
    registry,
    modules,
    uwsPorts: new Set(
      ports.flatMap(({ engine, address }) => (engine === 'node' ? [] : addressText(address))),
    ),
    blocks: (...contexts: readonly Context[]) => {
      const [context] = contexts;
      if (context === undefined) return blocks();
      // Indexed, because a rule may look up an upstream for each of ten thousand locations.
      if (contexts.length === 1) return blocksIn(context);
      return blocks().filter((block) => contexts.includes(block.context));
    },
    uses,
    blocksWith: (...names) => new Set(uses(...names).map(({ block }) => block)),
    upstream: (name) => upstreamNamed(config, name),
    textsOf: (value, block) => textsOf({ config, block }, value),
    isOpen: (block, method) => isOpen(config, block, method),
    isPublic,
    exposed: (rule) => exposed(config, rule),
    rejectsEmpty: (block, variable) => rejectsEmpty(config, block, variable),
  };
  return config;
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
