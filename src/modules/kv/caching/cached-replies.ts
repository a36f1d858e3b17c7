import { createHash } from 'node:crypto';
import {
  type Caches,
  bypassCache,
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
import { type Exchange, logContext } from '../../../http/index.ts';
import type { PieceBuffers } from '../../../bodies/index.ts';
import { type Bytes, COMMANDS, type CommandName, type Store } from '../commands.ts';
import type { KvConfig } from '../directives.ts';

/** Commands whose replies are stored. */
export const STORED: ReadonlySet<CommandName> = new Set(['get', 'mget', 'exists', 'strlen', 'hget']);
/** Longest life of a reply whose store does not announce changes. */
const UNTRACKED_MS = 1_000;

/** The parts that a location needs for its cache. */
export interface CachingParts {
  readonly caches: Caches;
  /** For sending stored replies. */
  readonly buffers: PieceBuffers;
}

/** Makes the response to a command. */
type Respond = (x: Exchange) => void;

/** The command of a request. */
interface CachedCommand {
  readonly args: readonly Bytes[];
  readonly store: Store;
  /** The state of tracking, see `Tracking.state`. */
  readonly changes: () => 'live' | 'down' | 'untracked';
  readonly isBase64: boolean;
}

/** The cache of a location. */
export interface Caching {
  /** Serves a request from the cache, or calls `respond`. */
  serve(x: Exchange, asked: CachedCommand, respond: Respond): void | Promise<void>;
}

/** Settings of other origins, which replies of a store do not use. */
const NO_ORIGIN = { cacheRevalidate: false, cacheConvertHead: true, cacheVerifyBytes: 1_048_576 } as const;

interface Outgoing extends CachedCommand {
  readonly respond: Respond;
}

/** Tells whether a location may store replies. */
export function isCached(config: KvConfig): boolean {
  // Replies say nothing about their lifetime, so the configuration has to.
  return mayCache(config) && config.cacheValidMs !== undefined && STORED.has(config.command);
}

/** Compiles the cache of a location. Returns `undefined` if its replies are not stored. */
export function compileCaching(config: KvConfig, parts: CachingParts, build: Build): Caching | undefined {
  if (!isCached(config)) return undefined;
  const { caches, buffers } = parts;
  const policy = compilePolicy({ ...config, ...NO_ORIGIN, ...staleAfter(config) }, { caches }, build);
  const rules: CacheRules<Outgoing> = {
    policy,
    delivery: ownDelivery,
    stored: new StoredDelivery(ownDelivery, { buffers, forcesRanges: false }, build),
    fetch: compileFetch(config),
    warn: (x, message) => build.log.write('warn', message, logContext(x)),
  };
  const keyOf = compileKey(config, build);
  return {
    serve(x, asked, respond) {
      const store = policy.storeOf(x);
      if (!store) return respond(x);
      const key = keyOf(x, asked);
      if (asked.changes() !== 'down')
        return serveCached(x, { rules, outgoing: { ...asked, respond }, store, key });
      bypassCache(x, store, key);
      return respond(x);
    },
  };
}

/** Adds the statuses of `error` and `timeout`: 502 if the store cannot be reached, and 504 after a timeout. */
function staleAfter({ cacheUseStale = [] }: KvConfig): Pick<KvConfig, 'cacheUseStale'> {
  const named = cacheUseStale.flat();
  const added = [
    ...(named.includes('error') ? (['http_502'] as const) : []),
    ...(named.includes('timeout') ? (['http_504'] as const) : []),
  ];
  return { cacheUseStale: [named, added] };
}

/** Compiles the cache key. It contains the versions of the keys: after a change, an older reply is not found. */
function compileKey(
  { command, cacheKey }: KvConfig,
  build: Build,
): (x: Exchange, asked: CachedCommand) => string {
  const own = cacheKey && build.value(cacheKey);
  return (x, { args, store, isBase64 }) => {
    const versions = store.versions?.of(keysOf(command, args)) ?? [];
    const words = args.map((arg) => (typeof arg === 'string' ? arg : { base64: arg.toString('base64') }));
    const asked = [command, ...words, isBase64, ...(own ? [own(x)] : [])];
    return `kv ${JSON.stringify([store.identity, versions, ...asked])}`;
  };
}

/** Returns the keys among the arguments of a command. */
function keysOf(command: CommandName, args: readonly Bytes[]): readonly Bytes[] {
  return COMMANDS[command].takesKey ? args.slice(0, 1) : args;
}

function compileFetch({ command, cacheValidMs = 0 }: KvConfig): Fetch<Outgoing> {
  return (x, { args, store, changes, respond }, mode) => {
    if (!mode.keeper) return respond(x);
    const keys = keysOf(command, args);
    const life = new Life(changes() === 'untracked' ? Math.min(cacheValidMs, UNTRACKED_MS) : cacheValidMs);
    void fetchOwn(x, mode, {
      respond: async (copy) => {
        await Promise.all(keys.map((key) => life.ask(store, key)));
        respond(copy);
      },
      storing: () => (life.isKnown ? { lifeMs: life.ms, tags: keys.map(tagOf) } : { refusal: 'expiry' }),
    });
  };
}

/** The time for which a reply may be kept: until the first of its keys expires. */
class Life {
  ms: number;
  isKnown = true;

  constructor(ms: number) {
    this.ms = ms;
  }

  /** Asks the store for the expiry of a key. Never rejects: after a fault `isKnown` is false. */
  ask(store: Store, key: Bytes): Promise<void> {
    return new Promise((resolve) => {
      store.run('pttl', [key], (fault, reply) => {
        const leftMs = Number(reply);
        // The number is negative for a key without an expiry and for a missing key.
        if (fault) this.isKnown = false;
        else if (leftMs >= 0) this.ms = Math.min(this.ms, leftMs);
        resolve();
      });
    });
  }
}

const TAG_BYTES = 64;

/** Returns the tag of a key: `kv:key`, or a digest if that is too long or the key is not text. */
function tagOf(key: Bytes): string {
  const tag = `kv:${String(key)}`;
  if (typeof key === 'string' && Buffer.byteLength(tag) <= TAG_BYTES) return tag;
  return `kv#${createHash('sha256').update(key).digest('base64url')}`;
}
