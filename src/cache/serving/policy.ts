import type { Caches } from '../store/caches.ts';
import type { CacheStore } from '../store/store.ts';
import { type DecidingHeader, type LifetimeRules, valuesOf } from '../store/lifetime.ts';
import { type ComplexValue, constantText } from '../../config/index.ts';
import { type Exchange, HttpFault } from '../../http/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import type { CacheValidConfig, StaleCondition } from './readers.ts';

/** The settings of a location's cache (`proxy_cache…` and similar). */
export interface UpstreamCacheConfig {
  readonly cache: ComplexValue;
  readonly cacheKey?: ComplexValue;
  readonly cacheValid?: readonly CacheValidConfig[];
  readonly cacheMinUses: number;
  readonly cacheBypass?: readonly (readonly ComplexValue[])[];
  readonly noCache?: readonly (readonly ComplexValue[])[];
  readonly cacheUseStale?: readonly (readonly StaleCondition[])[];
  readonly cacheLock: boolean;
  readonly cacheLockTimeoutMs: number;
  readonly cacheLockAgeMs: number;
  readonly cacheBackgroundUpdate: boolean;
}

/** The settings that only some kinds of origins have. */
export interface OriginCacheConfig {
  /** An expired response is revalidated with conditions (`proxy_cache_revalidate`). */
  readonly cacheRevalidate: boolean;
  /** A HEAD request is sent as GET. */
  readonly cacheConvertHead: boolean;
  /** The checksum of a larger body is compared while it is sent, not before. */
  readonly cacheVerifyBytes: number;
  /** Requests for ranges from this byte on are not stored; absent: no limit. */
  readonly cacheMaxRangeOffset?: number;
  /** Response headers that are ignored when a lifetime is determined. */
  readonly ignoreHeaders?: readonly (readonly string[])[];
}

/** The parts of the location that compiling needs. */
export interface CacheBuild {
  readonly core: { readonly ifModifiedSince: 'off' | 'exact' | 'before'; readonly maxRanges?: number };
  readonly log: ErrorLog;
  value(value: ComplexValue): (x: Exchange) => string;
  needHeader(lowerCaseName: string): void;
  needAllHeaders(): void;
}

/** The compiled directives of a location about its requests. */
export interface CachePolicy {
  readonly config: UpstreamCacheConfig & OriginCacheConfig;
  /** Returns the cache of a request; `undefined`: it has none. Throws an `HttpFault` if there is no such cache. */
  storeOf(x: Exchange): CacheStore | undefined;
  bypasses(x: Exchange): boolean;
  refuses(x: Exchange): boolean;
  /** True for a request whose range begins so late that the response is passed on without being stored. */
  isFarRange(x: Exchange): boolean;
  /** Returns the values of a request that determine its variant. */
  variantOf(x: Exchange): (names: readonly string[]) => string;
  /** Returns the tags of a response; `undefined` if they are too many or too long. */
  tagsOf(headers: readonly string[]): readonly string[] | undefined;
  readonly lifetime: LifetimeRules;
  readonly stale: ReadonlySet<StaleCondition>;
}

/** Returns whether a location may store responses. */
export function mayCache({ cache }: Pick<UpstreamCacheConfig, 'cache'>): boolean {
  const name = constantText(cache);
  return name !== 'off' && name !== '';
}

/** Compiles the directives of one location. */
export function compilePolicy(
  config: CachePolicy['config'],
  { caches, tagHeader }: { readonly caches: Caches; readonly tagHeader?: string | undefined },
  build: CacheBuild,
): CachePolicy {
  build.needAllHeaders();
  return {
    config,
    storeOf: compileStore(config, caches, build),
    bypasses: compilePredicate(config.cacheBypass, build),
    refuses: compilePredicate(config.noCache, build),
    isFarRange: compileFarRange(config, build),
    variantOf: (x) => (names) => names.map((name) => variantValue(x, name)).join('\n'),
    tagsOf: compileTags(tagHeader),
    lifetime: compileLifetime(config),
    stale: staleConditions(config),
  };
}

function compileStore(
  { cache }: UpstreamCacheConfig,
  caches: Caches,
  build: CacheBuild,
): CachePolicy['storeOf'] {
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

/** Compiles a test: true if one of the values is neither empty nor `0`. */
export function compilePredicate(
  lists: UpstreamCacheConfig['cacheBypass'] | undefined,
  build: CacheBuild,
): (x: Exchange) => boolean {
  const values = (lists ?? []).flat().map((value) => build.value(value));
  return (x) =>
    values.some((render) => {
      const text = render(x);
      return text !== '' && text !== '0';
    });
}

function compileFarRange(
  { cacheMaxRangeOffset: most }: OriginCacheConfig,
  build: CacheBuild,
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

/** In these headers, blanks and empty members are ignored (nginx ngx_http_file_cache_vary_header). */
const NORMALIZED: ReadonlySet<string> = new Set(['accept-encoding', 'accept-language', 'accept-charset']);

function variantValue(x: Exchange, name: string): string {
  const values = valuesOf(x.request.headers, name);
  if (!NORMALIZED.has(name)) return JSON.stringify(values);
  const members = values.join(',').replace(/\s+/g, '').split(',');
  return JSON.stringify(members.filter((member) => member !== ''));
}

const MOST_TAGS = 64;
const TAG_BYTES = 64;

/** Reads the tags of a response from one of its headers, which separates them by commas. */
function compileTags(header: string | undefined): CachePolicy['tagsOf'] {
  if (header === undefined) return () => [];
  const name = header.toLowerCase();
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

function compileLifetime({ ignoreHeaders, cacheValid = [] }: CachePolicy['config']): LifetimeRules {
  const ignored = new Set<string>(ignoreHeaders?.flat());
  return {
    ignores: (header) => ignored.has(IGNORABLE[header]),
    validFor: (status) => {
      const rule = cacheValid.find(({ codes }) => codes === 'any' || codes.includes(status));
      return rule ? rule.ms / 1000 : 0;
    },
  };
}

function staleConditions({ cacheUseStale }: UpstreamCacheConfig): ReadonlySet<StaleCondition> {
  const conditions = new Set(cacheUseStale?.flat());
  if (conditions.has('off')) conditions.clear();
  return conditions;
}
