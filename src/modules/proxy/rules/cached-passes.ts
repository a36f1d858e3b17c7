import type { DirectiveNode } from '../../../../grammar/index.ts';
import { type ComplexValue, oncePer } from '../../../config/index.ts';
import { type CheckedModule, matchOf, type Pass, passes } from '../../../contract/index.ts';
import { mayCache } from '../../../upstream-cache/index.ts';
import type { ProxyConfig } from '../config.ts';

/** A `proxy_pass` whose responses may be stored. */
export interface CachedPass extends Pass {
  readonly values: ProxyConfig;
  /** The `proxy_cache` that holds. */
  readonly cacheNode: DirectiveNode;
  readonly key: CacheKey;
}

/** What a key is made of. */
interface CacheKey {
  /** `undefined`: the default key. */
  readonly node: DirectiveNode | undefined;
  readonly value: ComplexValue;
  readonly names: ReadonlySet<string>;
}

/** The key of locations without a `proxy_cache_key`. */
const DEFAULT_KEY: ComplexValue = {
  parts: [{ variable: 'scheme' }, { variable: 'proxy_host' }, { variable: 'request_uri' }],
};

/** Returns every `proxy_pass` with a cache, in file order. */
export const cachedPasses = oncePer((config: CheckedModule<ProxyConfig>): readonly CachedPass[] =>
  passes(config).flatMap((pass) => {
    const values = config.configIn(pass.block);
    const [cacheNode] = config.nodesIn(pass.block, 'cache');
    if (!cacheNode || !mayCache(values)) return [];
    const value = values.cacheKey ?? DEFAULT_KEY;
    const [node] = config.nodesIn(pass.block, 'cacheKey');
    return [{ ...pass, values, cacheNode, key: { node, value, names: namesIn([value]) } }];
  }),
);

/** What a capture of a regular expression counts as. */
const CAPTURE = '1';

/** Returns the names of the variables in some values, in lower case. */
export function namesIn(values: readonly ComplexValue[]): ReadonlySet<string> {
  const parts = values.flatMap((value) => value.parts);
  return new Set(
    parts.flatMap((part) =>
      typeof part === 'string' ? [] : 'variable' in part ? part.variable.toLowerCase() : CAPTURE,
    ),
  );
}

/**
 * Tells whether one of the variables is of a kind, or may be: the configuration's own variables and captures can hold
 * anything.
 */
export function mayName(
  config: CheckedModule<ProxyConfig>,
  names: ReadonlySet<string>,
  kind: RegExp,
): boolean {
  return [...names].some((name) => kind.test(name) || isOwn(config, name));
}

/** Tells whether the configuration defines a variable itself, so that its value may be anything. */
function isOwn({ bound }: CheckedModule<ProxyConfig>, name: string): boolean {
  return name === CAPTURE || bound.defined.has(name);
}

const STATIC = /\\\.\(?(?:\?:)?[\w|?.\\()[\]*+-]*\)?\$$/;

/** Tells whether a location has files of some extensions only, which are the same for all clients. */
export function isForFiles({ block }: CachedPass): boolean {
  const match = matchOf(block);
  return match?.kind === 'regex' && STATIC.test(match.regex.source);
}
