import type { DirectiveNode } from '../../grammar/index.ts';
import { type BlockView, byHeader, oncePer } from '../config/index.ts';
import type { LiteralTarget, PassTarget } from './forwarding-config.ts';
import type { CheckedConfig, Use } from './rule.ts';
import { configOf } from './shared-configs.ts';

/** A `proxy_pass` that could be read. */
export interface Pass<T = PassTarget> extends Use {
  readonly target: T;
}

/** Every `proxy_pass`, in file order. */
export const passes = oncePer((config: CheckedConfig): readonly Pass[] =>
  config.uses('proxy_pass').flatMap((use) => {
    const target = targetOf(use.block);
    return target ? [{ ...use, target }] : [];
  }),
);

/** Those without variables. */
export const literalPasses = oncePer((config: CheckedConfig): readonly Pass<LiteralTarget>[] =>
  passes(config).flatMap(({ target, ...use }) => (target.kind === 'literal' ? [{ ...use, target }] : [])),
);

/** Where a block forwards to, if it does. */
export function targetOf(block: BlockView): PassTarget | undefined {
  return configOf(block.level, 'proxy').pass;
}

/** Whether requests are forwarded in a block or in one inside it. */
export function forwards(block: BlockView): boolean {
  return targetOf(block) !== undefined || block.inner.some(forwards);
}

/** The headers that requests of a block are sent on with, by their names in lower case. */
export function headersSent(block: BlockView): ReadonlyMap<string, DirectiveNode> {
  return byHeader(block.effective('proxy_set_header'));
}
