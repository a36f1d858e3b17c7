import type { DirectiveNode } from '../../grammar/index.ts';
import { type BlockView, byHeader, oncePer } from '../config/index.ts';
import type { LiteralTarget, PassTarget } from './proxy-pass-config.ts';
import type { CheckedConfig, Use } from './rule.ts';
import { configOf } from './shared-configs.ts';

/** A `proxy_pass` without faults. */
export interface Pass<T = PassTarget> extends Use {
  readonly target: T;
}

/** Returns every `proxy_pass` in file order. */
export const passes = oncePer((config: CheckedConfig): readonly Pass[] =>
  config.uses('proxy_pass').flatMap((use) => {
    const target = targetOf(use.block);
    return target ? [{ ...use, target }] : [];
  }),
);

/** Returns every `proxy_pass` without variables, in file order. */
export const literalPasses = oncePer((config: CheckedConfig): readonly Pass<LiteralTarget>[] =>
  passes(config).flatMap(({ target, ...use }) => (target.kind === 'literal' ? [{ ...use, target }] : [])),
);

/** Returns the target of a block's `proxy_pass`, if it has one. */
export function targetOf(block: BlockView): PassTarget | undefined {
  return configOf(block.level, 'proxy').pass;
}

/** Returns whether a block or one inside it forwards requests. */
export function forwards(block: BlockView): boolean {
  return targetOf(block) !== undefined || block.inner.some(forwards);
}

/** Returns the request headers that `proxy_set_header` sets in a block, by lower-case name. */
export function headersSent(block: BlockView): ReadonlyMap<string, DirectiveNode> {
  return byHeader(block.effective('proxy_set_header'));
}
