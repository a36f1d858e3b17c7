import type { CacheStore, Found } from '../store/store.ts';
import { type Lifetime, lifetimeOf, type LifetimeRules, valuesOf } from '../store/lifetime.ts';
import type { StoredEntry } from '../store/stored-entry.ts';
import { beginSpan, detachedFrom, type Exchange, failRequest } from '../../http/index.ts';
import type { ResponseHead, UpstreamFault } from '../../client/index.ts';
import { type BodyTaker, RangeTaker, TAKES_NOTHING } from '../../bodies/index.ts';
import { beginCacheFacts, type CacheFacts, type CacheStatus } from './cache-facts.ts';
import type { CachePolicy } from './policy.ts';
import type { StaleCondition } from './readers.ts';
import type { AcceptedResponse, Delivery, ResponseKeeper, StoredSource, Storing } from './response-keeper.ts';
import { storeWith } from './storing.ts';
import type { StoredDelivery } from './stored-delivery.ts';

/** How a request is sent: for the cache, without the headers that concern its client alone, or unchanged. */
export interface FetchMode {
  /** Decides about the response; absent: the client gets it unchanged. */
  readonly keeper?: ResponseKeeper;
  readonly isForCache: boolean;
  /** The response updates a stored one; no client waits for it. */
  readonly isUpdate?: boolean;
  /** Replaces the client's method. */
  readonly method?: string | undefined;
}

/** Asks the origin for a response. */
export type Fetch<Outgoing> = (x: Exchange, outgoing: Outgoing, mode: FetchMode) => void;

/** The parts that the requests of a location share. */
export interface CacheRules<Outgoing> {
  readonly policy: CachePolicy;
  readonly delivery: Delivery;
  readonly stored: StoredDelivery;
  readonly fetch: Fetch<Outgoing>;
  readonly warn: (x: Exchange, message: string) => void;
}

/** An expired response, known while its upstream is asked. */
interface Expired {
  readonly entry: StoredEntry;
  readonly isStaleAfterErrors: boolean;
}

/** A request as its origin would get it, and the place of its response in a cache. */
interface Cacheable<Outgoing> {
  readonly rules: CacheRules<Outgoing>;
  readonly outgoing: Outgoing;
  readonly store: CacheStore;
  readonly key: string;
}

/** Maximum length of a key. */
const KEY_BYTES = 4_096;

/** Serves a request from the cache, or asks its origin. A request whose key is too long bypasses the cache. */
export function serveCached<Outgoing>(x: Exchange, request: Cacheable<Outgoing>): void | Promise<void> {
  const { key, rules, outgoing } = request;
  if (key.length <= KEY_BYTES && Buffer.byteLength(key) <= KEY_BYTES)
    return new CachedRequest(x, request).begin();
  rules.warn(x, `the cache key is longer than ${KEY_BYTES} bytes: a response is not stored`);
  return rules.fetch(x, outgoing, { isForCache: false });
}

/** Records that a request is served without the cache, since the stored response may be outdated. */
export function bypassCache(x: Exchange, store: CacheStore, key: string): void {
  beginCacheFacts(x, key).status = 'BYPASS';
  store.meter.request('BYPASS');
}

/** Shorter waits for the lock are not counted. */
const WAITED_MS = 1;

/** One request whose location has a cache. */
class CachedRequest<Outgoing> implements ResponseKeeper {
  readonly #x: Exchange;
  readonly #rules: CacheRules<Outgoing>;
  readonly #outgoing: Outgoing;
  readonly #store: CacheStore;
  readonly #facts: CacheFacts;
  readonly #since: number;
  #found: Found | undefined = undefined;
  #ticket = 0;
  #waitsSinceMs = 0;
  #isCopy = false;
  #expired: Expired | undefined = undefined;

  constructor(x: Exchange, { rules, outgoing, store, key }: Cacheable<Outgoing>) {
    this.#x = x;
    this.#rules = rules;
    this.#outgoing = outgoing;
    this.#store = store;
    this.#facts = beginCacheFacts(x, key);
    this.#since = store.index.purges;
  }

  /** Serves the request from the cache, or sends it. */
  begin(): void | Promise<void> {
    const settle = this.#rules.policy.bypasses(this.#x)
      ? (found: Found): void => this.#bypass(found)
      : (found: Found): void | Promise<void> => this.#settle(found);
    const span = beginSpan(this.#x, 'cache lookup', 'internal');
    const found = this.#look();
    const settleTraced = (looked: Found): void | Promise<void> => {
      const waiting = settle(looked);
      span?.set('gw.cache_status', this.#facts.status ?? '').end();
      return waiting;
    };
    const act = span ? settleTraced : settle;
    return found instanceof Promise ? found.then(act) : act(found);
  }

  take(x: Exchange, head: ResponseHead, source: StoredSource): BodyTaker | undefined {
    const { policy, delivery } = this.#rules;
    const expired = this.#expired;
    if (expired && policy.stale.has(`http_${head.status}` as StaleCondition)) {
      this.#serveStale(expired);
      return undefined;
    }
    if (expired && head.status === 304 && policy.config.cacheRevalidate)
      return this.#revalidated(expired, head);
    this.#countExpired();
    this.#warnOfSecond(x, head);
    const verdict = this.#judge(x, { head, source });
    const { lifetime, tags } = verdict;
    const isStorable = verdict.refusal === undefined && typeof lifetime !== 'string';
    if (delivery.intercepts?.(x, head)) {
      if (isStorable) this.#remember(head.status, lifetime.times.validMs);
      return this.#leave(verdict);
    }
    const accepted = delivery.accept(x, head, source);
    if (!accepted) return this.#leave(verdict);
    if (isStorable && accepted.isBuffered) return this.#keep({ accepted, lifetime, source, tags });
    this.#countUnstored(verdict, 'unbuffered');
    if (NEVER_SHARED.has(lifetime)) return this.#passOn(accepted, source);
    return this.#passPart(accepted, source);
  }

  /** Decides whether the response may be stored, whatever the client gets. */
  #judge(x: Exchange, { head, source }: { head: ResponseHead; source: StoredSource }): Verdict {
    const { policy } = this.#rules;
    const storing = source.storing?.() ?? {};
    const tags = storing.tags ?? policy.tagsOf(head.headers);
    const refusal = policy.refuses(x) ? 'no_cache' : (storing.refusal ?? (tags ? undefined : 'tags'));
    return {
      refusal,
      lifetime: lifetimeOf(head, rulesOf(policy, storing), this.#store.now()),
      tags: tags ?? [],
    };
  }

  /** The first one counts, as in nginx. */
  #warnOfSecond(x: Exchange, { headers }: ResponseHead): void {
    const name = 'X-Accel-Expires';
    const { policy, warn } = this.#rules;
    const [first, ...others] = valuesOf(headers, 'x-accel-expires');
    if (policy.lifetime.ignores('x-accel-expires')) return;
    for (const other of others) {
      const previous = `previous value: "${name}: ${first}"`;
      warn(x, `upstream sent duplicate header line: "${name}: ${other}", ${previous}, ignored`);
    }
  }

  fails(status: 502 | 504, why: UpstreamFault['kind']): boolean {
    const expired = this.#expired;
    if (expired && (this.#rules.policy.stale.has(why) || expired.isStaleAfterErrors)) {
      this.#serveStale(expired);
      return true;
    }
    this.#countExpired();
    const seconds = this.#rules.policy.lifetime.validFor(status);
    if (seconds > 0) this.#remember(status, this.#store.now() + seconds * 1000);
    this.drop();
    return false;
  }

  drop(): void {
    const { name } = this.#found ?? {};
    if (this.#ticket !== 0 && name) this.#store.locks.release(name.digest, this.#ticket);
    this.#ticket = 0;
    this.#expired?.entry.release();
    this.#expired = undefined;
  }

  /** Counts a request for an expired response by the response that it gets. Copies for updates are not counted. */
  #countExpired(): void {
    if (this.#facts.status === 'EXPIRED' && !this.#isCopy) this.#store.meter.request('EXPIRED');
  }

  /** The new response replaces the stored one, which is not served. */
  #bypass(found: Found): void {
    found.entry?.release();
    this.#found = found;
    if (!this.#x.done) this.#fetch('BYPASS');
  }

  #look(isAgain = false): Found | Promise<Found> {
    const { policy } = this.#rules;
    return this.#store.find(this.#facts.key, {
      variantOf: policy.variantOf(this.#x),
      verifyBytes: policy.config.cacheVerifyBytes,
      isAgain,
    });
  }

  #settle(found: Found): void | Promise<void> {
    this.#found = found;
    if (this.#x.done) return found.entry?.release();
    if (found.entry) return this.#settleEntry(found.entry);
    const { cacheMinUses, cacheLock } = this.#rules.policy.config;
    const { indexed } = found;
    if (!indexed) {
      this.#rules.warn(this.#x, `the index of cache "${this.#store.name}" is full: a response is not stored`);
      return this.#fetch('MISS', false);
    }
    if (indexed.remembered !== 0 && indexed.validMs > this.#store.now()) {
      this.#facts.status = 'HIT';
      this.#store.meter.request('HIT');
      return this.#x.end(indexed.remembered);
    }
    // A key whose variants are known has been used often enough, also for a new variant.
    if (indexed.uses < cacheMinUses && !found.varies) return this.#fetch('MISS', false);
    return cacheLock ? this.#lock(found) : this.#fetch('MISS');
  }

  /** One request fetches the response; the others wait for it. */
  async #lock({ name, indexed }: Found): Promise<void> {
    const { policy } = this.#rules;
    const { cacheLockAgeMs: ageMs, cacheLockTimeoutMs: timeoutMs } = policy.config;
    const beganMs = performance.now();
    const outcome = await this.#store.locks.lock(name.digest, {
      ageMs,
      timeoutMs,
      startedMs: (this.#waitsSinceMs ||= performance.now()),
    });
    if (performance.now() - beganMs > WAITED_MS)
      this.#store.meter.lockWait.observe((performance.now() - beganMs) / 1000);
    if (typeof outcome === 'number') {
      this.#ticket = outcome;
      // The response may have been stored between the lookup and the lock.
      if (indexed && !this.#store.index.isCurrent(indexed)) {
        this.drop();
        return this.#settle(await this.#look(true));
      }
      // If the client has gone meanwhile, the response is not needed.
      return this.#x.done ? this.drop() : this.#fetch('MISS');
    }
    if (this.#x.done) return undefined;
    return outcome === 'late' ? this.#fetch('MISS', false) : this.#settle(await this.#look(true));
  }

  #settleEntry(entry: StoredEntry): void {
    const { updatingMs, errorMs, validMs } = entry.head.times;
    const { policy } = this.#rules;
    const nowMs = this.#store.now();
    if (nowMs < validMs) return this.#serve('HIT', entry);
    const mayBeStale = policy.stale.has('updating') || nowMs < updatingMs;
    const { digest } = (this.#found as Found).name;
    const ticket = this.#store.index.lock(digest, { nowMs, ageMs: policy.config.cacheLockAgeMs });
    if (ticket === 0 && mayBeStale) return this.#serve('UPDATING', entry);
    this.#ticket = ticket;
    if (ticket !== 0 && mayBeStale && policy.config.cacheBackgroundUpdate) return this.#update(entry);
    this.#expire(entry, nowMs < errorMs);
    this.#fetch('EXPIRED');
  }

  #expire(entry: StoredEntry, isStaleAfterErrors: boolean): void {
    this.#expired = { entry, isStaleAfterErrors };
    const { response } = entry.head;
    if (!this.#rules.policy.config.cacheRevalidate || !response) return;
    if (response.status !== 200 && response.status !== 206) return;
    this.#facts.lastModified = valuesOf(response.headers, 'last-modified')[0] ?? '';
    this.#facts.etag = valuesOf(response.headers, 'etag')[0] ?? '';
  }

  /** Serves a stale response, and asks the upstream with a copy of the request. */
  #update(entry: StoredEntry): void {
    const x = detachedFrom(this.#x, this.#x.request.method);
    const { key } = this.#facts;
    const copy = new CachedRequest(x, {
      rules: this.#rules,
      outgoing: this.#outgoing,
      store: this.#store,
      key,
    });
    copy.#isCopy = true;
    copy.#found = this.#found;
    copy.#ticket = this.#ticket;
    this.#ticket = 0;
    copy.#expire(entry.use(), true);
    this.#serve('STALE', entry);
    try {
      copy.#fetch('EXPIRED');
    } catch (error) {
      copy.drop();
      failRequest(x, error);
    }
  }

  #serve(status: CacheStatus, entry: StoredEntry): void {
    this.#facts.status = status;
    this.#store.meter.request(status);
    this.#facts.storedMs = entry.head.times.storedMs;
    const { name } = this.#found as Found;
    this.#rules.stored.serve(this.#x, entry, this.#store.directory.pathOf(name.digest));
  }

  #serveStale({ entry }: Expired): void {
    this.#expired = undefined;
    this.drop();
    this.#serve('STALE', entry);
  }

  #revalidated({ entry }: Expired, head: ResponseHead): BodyTaker {
    this.#expired = undefined;
    const nowMs = this.#store.now();
    const lifetime = this.#renewedLifetime(entry, head, nowMs);
    const { name } = this.#found as Found;
    if (typeof lifetime === 'string') this.drop();
    else void this.#store.renew(name, entry, lifetime.times).finally(() => this.drop());
    this.#serve('REVALIDATED', entry);
    return TAKES_NOTHING;
  }

  /** The lifetime that a 304 states takes precedence over that of the stored response. */
  #renewedLifetime(
    entry: StoredEntry,
    { headers }: ResponseHead,
    nowMs: number,
  ): ReturnType<typeof lifetimeOf> {
    const rules = this.#rules.policy.lifetime;
    const { status, headers: stored } = entry.head.response ?? { status: 200, headers: [] };
    const own = lifetimeOf({ status, headers }, { ignores: rules.ignores, validFor: () => 0 }, nowMs);
    return own === 'no lifetime' ? lifetimeOf({ status, headers: stored }, rules, nowMs) : own;
  }

  #remember(status: number, validMs: number): void {
    const { name } = this.#found ?? {};
    if (name) this.#store.index.remember(name.digest, status, validMs);
  }

  #fetch(status: CacheStatus, isForCache = true): void {
    const { policy, fetch } = this.#rules;
    this.#facts.status = status;
    if (status !== 'EXPIRED') this.#store.meter.request(status);
    const isStored = isForCache && !policy.isFarRange(this.#x);
    const converts = this.#x.method === 'HEAD' && policy.config.cacheConvertHead;
    if (!isStored) this.drop();
    try {
      fetch(this.#x, this.#outgoing, {
        isForCache: isStored,
        isUpdate: this.#isCopy,
        ...(isStored && { keeper: this }),
        method: converts ? 'GET' : undefined,
      });
    } catch (error) {
      this.drop();
      throw error;
    }
  }

  #keep(response: {
    readonly accepted: AcceptedResponse;
    readonly lifetime: Lifetime;
    readonly source: StoredSource;
    readonly tags: readonly string[];
  }): BodyTaker | undefined {
    this.#expired?.entry.release();
    this.#expired = undefined;
    const { stored, policy } = this.#rules;
    const x = this.#x;
    const ticket = this.#ticket;
    const { accepted, source } = response;
    const digest = this.#found?.name.digest;
    const relay = storeWith(
      {
        store: this.#store,
        key: this.#facts.key,
        varies: this.#found?.varies,
        since: this.#since,
        ...response,
      },
      {
        x,
        source,
        decide: () => stored.decideFirst(x, accepted),
        variantOf: policy.variantOf(x),
        readAheadBytes: accepted.readAheadBytes,
        pace: accepted.pace,
        done: () => ticket !== 0 && digest && this.#store.locks.release(digest, ticket),
      },
    );
    if (!relay) return this.#passOn(accepted, source);
    this.#ticket = 0;
    return relay;
  }

  /** Passes on a response that is not stored. */
  #passOn(accepted: AcceptedResponse, source: StoredSource): BodyTaker | undefined {
    this.drop();
    const x = this.#x;
    if (x.aborted) return undefined;
    const relay = this.#rules.delivery.pass(x, accepted);
    return x.request.method === 'HEAD' || this.#isCopy
      ? leavingBody(relay, source)
      : abandoning(relay, source);
  }

  /** Works as `#passOn`, but applies the client's conditions and range, which were not sent (nginx). */
  #passPart(accepted: AcceptedResponse, source: StoredSource): BodyTaker | undefined {
    const x = this.#x;
    const part = this.#rules.stored.decideFirst(x, accepted);
    const [range] = part?.body.parts ?? [];
    if (!part || !range) {
      this.drop();
      return undefined;
    }
    if (part.status === accepted.head.status) return this.#passOn(accepted, source);
    const { lengthBytes: announcedBytes, contentType } = part.body;
    const head = { ...accepted.head, status: 206, announcedBytes };
    const taker = this.#passOn({ ...accepted, head, contentType }, source);
    return taker && new RangeTaker(taker, range);
  }

  /** The client has already got another response. */
  #leave(verdict: Verdict): undefined {
    this.#countUnstored(verdict, 'replaced');
    this.drop();
  }

  #countUnstored({ refusal, lifetime }: Verdict, otherwise: string): void {
    this.#store.notStored(refusal ?? (typeof lifetime === 'string' ? lifetime : otherwise));
  }
}

/** The verdict on storing a response. */
interface Verdict {
  /** The reason not to store it, regardless of its headers. */
  readonly refusal: string | undefined;
  readonly lifetime: ReturnType<typeof lifetimeOf>;
  readonly tags: readonly string[];
}

/** Responses with these verdicts are for one client, which gets them unchanged. */
const NEVER_SHARED: ReadonlySet<unknown> = new Set<Verdict['lifetime']>(['set-cookie', 'vary', 'headers']);

function rulesOf({ lifetime }: CachePolicy, { lifeMs }: Storing): LifetimeRules {
  if (lifeMs === undefined) return lifetime;
  return { ...lifetime, validFor: (status) => (status === 200 ? lifeMs / 1000 : 0) };
}

/** Of this response, the client gets only the head. A body that did not arrive with the head may never end. */
function leavingBody(relay: BodyTaker, source: StoredSource): BodyTaker {
  return {
    ...TAKES_NOTHING,
    follow() {
      source.withdraw();
      relay.end();
    },
    end: () => relay.end(),
    cut: () => relay.end(),
    drop: () => relay.drop(),
  };
}

/** A response that is not stored is not needed when its client goes. */
function abandoning(relay: BodyTaker, source: StoredSource): BodyTaker {
  return {
    piece: (bytes) => relay.piece(bytes),
    follow: () => relay.follow(),
    end: () => relay.end(),
    cut: () => relay.cut(),
    drop() {
      relay.drop();
      source.withdraw();
    },
  };
}
