import type { DirectiveNode } from '../../grammar/index.ts';
import type { BlockView, ResolvedConfigs } from '../config/index.ts';
import type { CoreConfig, LocationMatch, UpstreamConfig } from './core-config.ts';
import type { ForwardingConfig } from './forwarding-config.ts';
import type { Condition, RewriteConfig } from './rewrite-config.ts';
import type { SslConfig } from './ssl-config.ts';

/** Configs that others read besides the module that they belong to, by the module's name. */
export interface SharedConfigs {
  readonly core: CoreConfig;
  readonly proxy: ForwardingConfig;
  readonly rewrite: RewriteConfig;
  readonly ssl: SslConfig;
  readonly upstream: UpstreamConfig;
}

/** A module's config at one place, inheritance and defaults done. */
export function configOf<M extends keyof SharedConfigs>(level: ResolvedConfigs, module: M): SharedConfigs[M] {
  const value: object | undefined = level.get(module)?.value;
  return (value ?? {}) as SharedConfigs[M];
}

/** The directives that gave a field of a module's config; none where it has its default. */
export function nodesOf<M extends keyof SharedConfigs>(
  block: BlockView,
  module: M,
  field: keyof SharedConfigs[M] & string,
): readonly DirectiveNode[] {
  return block.from(module).get(field)?.nodes ?? [];
}

/** How a location matches; `undefined` for any other block, and where its words could not be read. */
export function matchOf({ context, args }: BlockView): LocationMatch | undefined {
  return context === 'location' ? (args as LocationMatch | undefined) : undefined;
}

/** What an `if` asks; `undefined` for any other block, and where its words could not be read. */
export function conditionOf({ context, args }: BlockView): Condition | undefined {
  const isIf = context === 'server if' || context === 'location if';
  return isIf ? (args as { readonly condition: Condition } | undefined)?.condition : undefined;
}
