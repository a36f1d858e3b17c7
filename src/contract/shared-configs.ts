import type { DirectiveNode } from '../../grammar/index.ts';
import type { BlockView, ResolvedConfigs } from '../config/index.ts';
import type { ForwardingConfig, PassAddress } from '../forwarding/index.ts';
import type { CacheConfig } from './cache-config.ts';
import type { ClusterConfig } from './cluster-config.ts';
import type { CoreConfig, LocationMatch, UpstreamConfig } from './core-config.ts';
import type { ProxyPassConfig } from './proxy-pass-config.ts';
import type { HealthConfig } from './health-config.ts';
import type { Condition, RewriteConfig } from './rewrite-config.ts';
import type { SslConfig } from './ssl-config.ts';

/** `fastcgi_pass` and similar directives. */
interface AddressPassConfig extends ForwardingConfig {
  readonly pass?: PassAddress;
}

/** Configs that are read outside their modules, by the module's name. */
interface SharedConfigs {
  readonly cache: CacheConfig;
  readonly cluster: ClusterConfig;
  readonly core: CoreConfig;
  readonly health: HealthConfig;
  readonly proxy: ProxyPassConfig & ForwardingConfig;
  readonly fastcgi: AddressPassConfig;
  readonly uwsgi: AddressPassConfig;
  readonly scgi: AddressPassConfig;
  readonly rewrite: RewriteConfig;
  readonly ssl: SslConfig;
  readonly upstream: UpstreamConfig;
}

/** Returns a module's config on a level, with inheritance and defaults applied. */
export function configOf<M extends keyof SharedConfigs>(level: ResolvedConfigs, module: M): SharedConfigs[M] {
  const value: object | undefined = level.get(module)?.value;
  return (value ?? {}) as SharedConfigs[M];
}

/** Returns the directives that set a field of a module's config; empty if it has its default. */
export function nodesOf<M extends keyof SharedConfigs>(
  block: BlockView,
  module: M,
  field: keyof SharedConfigs[M] & string,
): readonly DirectiveNode[] {
  return block.from(module).get(field)?.nodes ?? [];
}

/** Returns how a location matches; `undefined` for other blocks and for unreadable arguments. */
export function matchOf({ context, args }: BlockView): LocationMatch | undefined {
  return context === 'location' ? (args as LocationMatch | undefined) : undefined;
}

/** Returns the condition of an `if`; `undefined` for other blocks and for unreadable arguments. */
export function conditionOf({ context, args }: BlockView): Condition | undefined {
  const isIf = context === 'server if' || context === 'location if';
  return isIf ? (args as { readonly condition: Condition } | undefined)?.condition : undefined;
}
