import {
  type Caches,
  type CacheStore,
  type DecidingHeader,
  type LifetimeRules,
  valuesOf,
} from '../../../cache/index.ts';
import { constantText } from '../../../config/index.ts';
import type { Build } from '../../../contract/index.ts';
import { type Exchange, HttpFault } from '../../../http/index.ts';
import type { ProxyConfig, StaleCondition } from '../config.ts';
import type { Target } from '../target.ts';

/** What `proxy_cache…` says about the requests of a location, compiled. */
export interface CachePolicy {
  readonly config: ProxyConfig;
  /** Gives the cache of a request; `undefined`: none. Throws an `HttpFault` if there is no such cache. */
  storeOf(x: Exchange): CacheStore | undefined;
  /** Tells whether responses to a method are stored. */
  takes(method: string): boolean;
  keyOf(x: Exchange, target: Target, requestTarget: string): string;
  bypasses(x: Exchange): boolean;
  refuses(x: Exchange): boolean;
  /** The request is for a range that is passed on and not stored. */
  isFarRange(x: Exchange): boolean;
  /** The value of a request that tells its variant. */
  variantOf(x: Exchange): (names: readonly string[]) => string;
  /** The tags of a response; `undefined`: they are too many or too long. */
  tagsOf(headers: readonly string[]): readonly string[] | undefined;
  /** The request asks for the removal of what its key means. */
  purges(x: Exchange): boolean;
  readonly lifetime: LifetimeRules;
  readonly stale: ReadonlySet<StaleCondition>;
}

/** Tells whether a location may store responses. */
export function mayCache({ cache }: Pick<ProxyConfig, 'cache'>): boolean {
  const name = constantText(cache);
  return name !== 'off' && name !== '';
}

/** Compiles the directives of one location. */
export function compilePolicy(config: ProxyConfig, caches: Caches, build: Build): CachePolicy {
  const methods = new Set<string>(['GET', 'HEAD', ...(config.cacheMethods ?? [])]);
  const key = config.cacheKey && build.value(config.cacheKey);
  build.needAllHeaders();
  return {
    config,
    storeOf: compileStore(config, caches, build),
    takes: (method) => methods.has(method),
    keyOf: (x, { proxyHost }, requestTarget) =>
      key ? key(x) : `${x.request.port.scheme}${proxyHost}${requestTarget}`,
    bypasses: compilePredicate(config.cacheBypass, build),
    refuses: compilePredicate(config.noCache, build),
    isFarRange: compileFarRange(config, build),
    variantOf: (x) => (names) => names.map((name) => variantValue(x, name)).join('\n'),
    tagsOf: compileTags(config),
    purges: compilePredicate(config.cachePurge, build),
    lifetime: compileLifetime(config),
    stale: staleConditions(config),
  };
}

function compileStore({ cache }: ProxyConfig, caches: Caches, build: Build): CachePolicy['storeOf'] {
  const fixed = constantText(cache);
  if (fixed !== undefined) {
    const store = caches.get(fixed);
    return () => store;
  }
  const render = build.value(cache);
  return (x) => {
    const name = render(x);
    if (name === '' || name === 'off') return undefined;
    const store = caches.get(name);
    if (store) return store;
    throw new HttpFault(500, `cache "${name}" not found`);
  };
}

/** Gives true if one of the values is neither empty nor `0`. */
function compilePredicate(
  lists: ProxyConfig['cacheBypass'] | undefined,
  build: Build,
): (x: Exchange) => boolean {
  const values = (lists ?? []).flat().map((value) => build.value(value));
  return (x) =>
    values.some((render) => {
      const text = render(x);
      return text !== '' && text !== '0';
    });
}

function compileFarRange(
  { cacheMaxRangeOffset: most }: ProxyConfig,
  build: Build,
): CachePolicy['isFarRange'] {
  if (most === undefined) return () => false;
  build.needHeader('range');
  return (x) => {
    const range = x.header('range');
    if (range === undefined) return false;
    if (most === 0) return true;
    const [, suffix, digits] = /^bytes= *(?:(-)|(\d*))/i.exec(range) ?? [];
    if (suffix === undefined && digits === undefined) return false;
    return suffix !== undefined || digits === '' || Number(digits) >= most;
  };
}

/** Blanks and empty members of these do not count (nginx ngx_http_file_cache_vary_header). */
const NORMALIZED: ReadonlySet<string> = new Set(['accept-encoding', 'accept-language', 'accept-charset']);

function variantValue(x: Exchange, name: string): string {
  const values = valuesOf(x.request.headers, name);
  if (!NORMALIZED.has(name)) return JSON.stringify(values);
  const members = values.join(',').replace(/\s+/g, '').split(',');
  return JSON.stringify(members.filter((member) => member !== ''));
}

const MOST_TAGS = 64;
const TAG_BYTES = 64;

/** The tags of a response, separated by commas. */
function compileTags({ tagHeader, cacheTags, cacheTagsHeader }: ProxyConfig): CachePolicy['tagsOf'] {
  const name = (tagHeader ?? (cacheTags ? cacheTagsHeader : undefined))?.toLowerCase();
  if (name === undefined) return () => [];
  return (headers) => {
    const tags = valuesOf(headers, name).flatMap((value) => value.split(',').map((tag) => tag.trim()));
    const distinct = [...new Set(tags.filter((tag) => tag !== ''))];
    const isTooLong = distinct.some((tag) => Buffer.byteLength(tag) > TAG_BYTES);
    return isTooLong || distinct.length > MOST_TAGS ? undefined : distinct;
  };
}

const IGNORABLE: Readonly<Record<DecidingHeader, string>> = {
  'x-accel-expires': 'X-Accel-Expires',
  expires: 'Expires',
  'cache-control': 'Cache-Control',
  'set-cookie': 'Set-Cookie',
  vary: 'Vary',
};

function compileLifetime({ ignoreHeaders, cacheValid = [] }: ProxyConfig): LifetimeRules {
  const ignored = new Set<string>(ignoreHeaders?.flat());
  return {
    ignores: (header) => ignored.has(IGNORABLE[header]),
    validFor: (status) => {
      const rule = cacheValid.find(({ codes }) => codes === 'any' || codes.includes(status));
      return rule ? rule.ms / 1000 : 0;
    },
  };
}

function staleConditions({ cacheUseStale }: ProxyConfig): ReadonlySet<StaleCondition> {
  const conditions = new Set(cacheUseStale?.flat());
  if (conditions.has('off')) conditions.clear();
  return conditions;
}
