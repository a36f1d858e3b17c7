import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  type Caches,
  bypassCache,
  type CachePolicy,
  type CacheRules,
  compilePolicy,
  type Fetch,
  fetchOwn,
  mayCache,
  ownDelivery,
  serveCached,
  StoredDelivery,
} from '../../../cache/index.ts';
import type { Build } from '../../../contract/index.ts';
import { encodePath, type Exchange, logContext } from '../../../http/index.ts';
import type { PieceBuffers } from '../../../bodies/index.ts';
import type { Identity } from '../auth/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { parseJson } from '../../../json.ts';
import { type RequestHead, sortedQuery } from '../request/index.ts';
import type { Schema } from '../schema/index.ts';
import type { RunPlan, SharedView } from '../sql/index.ts';
import type { DatabaseCaches } from './database-caches.ts';
import { tagsOf } from './tags.ts';

/** The part of a request and of its owner that the database sees: all of it is in the key. */
interface ShownToDatabase {
  readonly identity: Identity;
  readonly shared?: SharedView;
}

/** Makes the response to a request. `planned` is called with the plan before it runs. `shown`: all, if absent. */
type Respond = (
  x: Exchange,
  planned?: (plan: RunPlan) => Promise<void>,
  shown?: ShownToDatabase,
) => Promise<void>;

/** The parts of the cache of a location. */
interface CachingParts {
  readonly caches: Caches;
  readonly buffers: PieceBuffers;
  readonly database: {
    readonly caches: DatabaseCaches;
    readonly schema: {
      readonly known: Pick<Schema, 'mediaHandlers'> | undefined;
      current(): unknown;
    };
  };
  readonly headOf: (x: Exchange) => RequestHead;
}

/** The cache of a location. */
export interface Caching {
  /** Returns the key of a request; `undefined`: its response is not for the cache. */
  keyOf(x: Exchange, identity: Identity): string | undefined;
  readonly policy: CachePolicy;
  /** Serves a request from the cache, or has its response made. */
  serve(x: Exchange, identity: Identity, respond: Respond): void | Promise<void>;
}

/** The settings of other caches that a database has no use for. */
const NO_ORIGIN = { cacheRevalidate: false, cacheConvertHead: true, cacheVerifyBytes: 1_048_576 } as const;

/** Compiles the cache of a location; `undefined`: it has none. */
export function compileCaching(config: DbrestConfig, parts: CachingParts, build: Build): Caching | undefined {
  // A function that runs before each request may decide by anything.
  if (!mayCache(config) || (config.preRequest && !config.cachePreRequest)) return undefined;
  const { caches, buffers, database } = parts;
  const policy = compilePolicy({ ...config, ...NO_ORIGIN, ...staleAfter(config) }, { caches }, build);
  const rules: CacheRules<Respond> = {
    policy,
    delivery: ownDelivery,
    stored: new StoredDelivery(ownDelivery, { buffers, forcesRanges: false }, build),
    fetch: compileFetch(config, database.caches),
    warn: (x, message) => build.log.write('warn', message, logContext(x)),
  };
  const claims = new CountedClaims(config.cacheClaims);
  const keyOf = compileKey(config, { ...parts, claims }, build);
  const shownOf = compileShown(config, claims);
  const isLive = (): boolean => !config.cacheListen || database.caches.isLive;
  const serve: Caching['serve'] = (x, identity, respond) => {
    const store = policy.storeOf(x);
    const key = store && keyOf(x, identity);
    if (key === undefined || !store) return respond(x);
    // The database sees the same whether the response is stored or not, so that rows do not come and go with the cache.
    const outgoing: Respond = (asked, planned) => respond(asked, planned, shownOf(asked, identity));
    if (isLive()) return serveCached(x, { rules, outgoing, store, key });
    bypassCache(x, store, key);
    return outgoing(x);
  };
  return {
    keyOf,
    policy,
    serve(x, identity, respond) {
      if (database.schema.known) return serve(x, identity, respond);
      // The key of a response depends on the media types of the schema. Planning the request reports a fault.
      return Promise.resolve(database.schema.current()).then(
        () => serve(x, identity, respond),
        () => respond(x),
      );
    },
  };
}

/** A database that cannot be reached is a 503, one that is too slow a 504. */
function staleAfter({ cacheUseStale = [] }: DbrestConfig): Pick<DbrestConfig, 'cacheUseStale'> {
  const named = cacheUseStale.flat();
  const added = [
    ...(named.includes('error') ? (['http_503'] as const) : []),
    ...(named.includes('timeout') ? (['http_504'] as const) : []),
  ];
  return { cacheUseStale: [named, added] };
}

function compileFetch({ cacheRpc: functions }: DbrestConfig, caches: DatabaseCaches): Fetch<Respond> {
  return (x, respond, mode) => {
    let found: ReturnType<typeof tagsOf> | 'relatives' = 'function';
    const planned = async (plan: RunPlan): Promise<void> => {
      const relatives = await caches.relatives().catch(() => undefined);
      found = relatives ? tagsOf(plan, relatives, { functions }) : 'relatives';
    };
    void fetchOwn(x, mode, {
      // A response that is not stored needs no tags.
      respond: (copy) => respond(copy, mode.keeper && planned),
      storing: () => (typeof found === 'string' ? { refusal: found } : { tags: found }),
    });
  };
}

/** Claims that change with each token and say nothing about its owner. */
const PASSING: ReadonlySet<string> = new Set(['exp', 'iat', 'nbf', 'jti']);
const KNOWN_CLAIMS = 1_000;

/** A digest of the directives of a location that decide about its responses. */
function digestOfRules(config: DbrestConfig, { path }: { readonly path: string }): string {
  const {
    schemas,
    extraSearchPath,
    settings,
    maxRows,
    preRequest,
    aggregates,
    rpc,
    errorVerbosity,
    rowVersion,
    root,
    legacyTargetNames,
  } = config;
  const facts = [
    path,
    schemas,
    extraSearchPath,
    settings,
    maxRows,
    preRequest,
    aggregates,
    rpc,
    errorVerbosity,
    ...(rowVersion === undefined ? [] : [rowVersion]),
    ...(root ? [{ root }] : []),
    ...(legacyTargetNames ? [] : ['no legacy target names']),
  ];
  return digest(JSON.stringify(facts));
}

/** The key identifies the caller, so that rows of one role, or of one token's owner, are never served to others. */
function compileKey(
  config: DbrestConfig,
  { database, headOf, claims }: CachingParts & { readonly claims: CountedClaims },
  build: Build,
): Caching['keyOf'] {
  const { cacheVary = [], cacheKey } = config;
  const own = cacheKey && build.value(cacheKey);
  const start = `${database.caches.prefix}${digestOfRules(config, build.location)}`;
  const varies = cacheVary.map((name) => name.toLowerCase());
  return (x, identity) => {
    const head = cacheableHead(x, headOf);
    if (!head || head.preferences.tx !== undefined) return undefined;
    // HEAD ignores `Range`, but is served from the response to GET, which does not.
    if (x.method === 'HEAD' && x.header('range') !== undefined) return undefined;
    // A stored response has no version that could be compared.
    if (config.rowVersion !== undefined && x.header('if-match') !== undefined) return undefined;
    if (head.kind === 'call' && !config.cacheRpc) return undefined;
    const media = mediaOf(head, database.schema.known);
    if (media === undefined) return undefined;
    const { count, handling, timeZone, timeout } = head.preferences;
    const asked = own
      ? [own(x)]
      : [x.uri, sortedQuery(x.args), head.schema, media, x.header('range'), count, handling, timeZone];
    const others = varies.map((name) => x.header(name));
    if (timeout !== undefined) others.push(`timeout=${timeout}`);
    return `${start} ${JSON.stringify([identity.role, claims.digestOf(identity), ...asked, ...others])}`;
  };
}

/** `undefined`: the request is not a read, or is wrong and gets its fault where it is served. */
function cacheableHead(x: Exchange, headOf: CachingParts['headOf']): RequestHead | undefined {
  if (x.method !== 'GET' && x.method !== 'HEAD') return undefined;
  try {
    const head = headOf(x);
    return head.kind === 'read' || head.kind === 'call' ? head : undefined;
  } catch {
    return undefined;
  }
}

/** The media type that will be chosen, as far as it is known; `undefined` for execution plans. */
function mediaOf(
  { accepted }: RequestHead,
  known: Pick<Schema, 'mediaHandlers'> | undefined,
): string | undefined {
  if (accepted.some(({ media }) => media?.plan)) return undefined;
  const [first] = accepted;
  const isSure = known?.mediaHandlers?.length === 0 && first?.media && SURE.has(first.media.format);
  return isSure ? (first?.media?.name ?? '') : accepted.map(({ text }) => text).join(', ');
}

/** Formats that every read has. */
const SURE: ReadonlySet<string> = new Set(['json', 'object', 'csv']);

/** Numbers that may lose digits when they are read. */
const LONG_NUMBER = /\d{16}|\d[.eE]/;

/** The claims that count: callers for whom they are equal share a response. */
class CountedClaims {
  readonly #counts: (name: string) => boolean;
  readonly #known = new LRUCache<string, { readonly text: string; readonly digest: string }>({
    max: KNOWN_CLAIMS,
  });

  /** `names`: those that count; all but the passing ones if absent. */
  constructor(names: readonly string[] | undefined) {
    this.#counts = names ? (name) => names.includes(name) : (name) => !PASSING.has(name);
  }

  digestOf(identity: Identity): string {
    return identity.jwt === '' ? '' : this.#of(identity).digest;
  }

  /** An identity with no other claims, and without its token. */
  shownOf(identity: Identity): Identity {
    return identity.jwt === '' ? identity : { ...identity, jwt: '', claims: this.#of(identity).text };
  }

  /** All claims count if one of them may be a number that loses digits when it is read. */
  #of({ role, claims }: Identity): { readonly text: string; readonly digest: string } {
    const key = `${role} ${claims}`;
    const seen = this.#known.get(key);
    if (seen) return seen;
    const text = LONG_NUMBER.test(claims) ? claims : this.#counted(role, claims);
    const made = { text, digest: digest(text) };
    this.#known.set(key, made);
    return made;
  }

  /** The role is in the key in any case. */
  #counted(role: string, claims: string): string {
    const members = Object.entries(parseJson(claims) as object).filter(([name]) => this.#counts(name));
    if (!members.some(([name]) => name === 'role')) members.push(['role', role]);
    return JSON.stringify(Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1))));
  }
}

/** Compiles the part of a request with a key that the database sees. */
function compileShown(
  { cacheVary = [] }: DbrestConfig,
  claims: CountedClaims,
): (x: Exchange, identity: Identity) => ShownToDatabase {
  const varies = new Set(cacheVary.map((name) => name.toLowerCase()));
  return (x, identity) => {
    const headers = x.request.headers.filter((_, i, all) => varies.has(all[i - (i % 2)] as string));
    const query = sortedQuery(x.args);
    const uri = `${encodePath(x.uri)}${query === '' ? '' : `?${query}`}`;
    return { identity: claims.shownOf(identity), shared: { headers, uri } };
  };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
