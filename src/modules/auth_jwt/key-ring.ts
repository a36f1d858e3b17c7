import { LRUCache } from 'lru-cache';
import type { Exchange } from '../../http/index.ts';
import type { KeysOrFault } from '../../issuer/index.ts';
import { joinKeys, type KeySet } from '../../tokens/index.ts';
import { type AuthJwtConfig, isOfNginz } from './directives.ts';

/** Where keys of a location come from: a file, a URL, a subrequest. */
export interface KeyOrigin {
  /** Set if the keys depend on the request. */
  readonly isOfRequest?: true;
  /** The keys that are known now. */
  known(x: Exchange, nowMs: number): KeysOrFault;
  /** Asks for keys: for `all` if none are known, or for `one` that a token names. `undefined`: there is nothing to wait for. */
  ask?(x: Exchange, missing: 'all' | 'one'): Promise<void> | undefined;
}

/** The keys for a request, and why sources have none at present. */
interface Ring {
  readonly keys: KeySet;
  readonly faults: readonly string[];
}

const NO_KEYS: Ring = {
  keys: joinKeys([], { needsKid: false }),
  faults: ['"auth_jwt" has no keys here: neither "auth_jwt_key_file" nor "auth_jwt_key_request" is set'],
};

/** Joined sets that are kept: names of files may contain variables. */
const MOST_SETS = 100;

/** Keys from several sources, for one location. */
export class KeyRing {
  /** True if some of the keys have to be waited for. */
  readonly asks: boolean;
  readonly #config: AuthJwtConfig;
  readonly #origins: readonly KeyOrigin[];
  readonly #isOfRequest: boolean;
  /** The keys at one time: requests of one millisecond share them. */
  #now: { readonly ms: number; readonly ring: Ring } | undefined;
  readonly #joined = new LRUCache<string, KeySet>({ max: MOST_SETS });
  #last: { readonly sets: readonly KeySet[]; readonly keys: KeySet } | undefined;

  constructor(config: AuthJwtConfig, origins: readonly KeyOrigin[]) {
    this.#config = config;
    this.#origins = origins;
    this.#isOfRequest = origins.some(({ isOfRequest }) => isOfRequest);
    this.asks = origins.some(({ ask }) => ask);
  }

  /** The keys that are known now. */
  of(x: Exchange, nowMs: number): Ring {
    if (this.#now?.ms === nowMs) return this.#now.ring;
    const ring = this.#find(x, nowMs);
    if (!this.#isOfRequest) this.#now = { ms: nowMs, ring };
    return ring;
  }

  #find(x: Exchange, nowMs: number): Ring {
    if (this.#origins.length === 0) return NO_KEYS;
    const sets: KeySet[] = [];
    const faults: string[] = [];
    for (const origin of this.#origins) {
      const keys = origin.known(x, nowMs);
      if ('fault' in keys) faults.push(keys.fault);
      else sets.push(keys);
    }
    return { keys: this.#join(sets), faults };
  }

  /** Waits for keys: of sources without any, or the one that a token names. `undefined`: there is nothing to wait for. */
  ask(x: Exchange, missing: 'all' | 'one', nowMs: number): Promise<unknown> | undefined {
    this.#now = undefined;
    const waits = this.#origins.flatMap((origin) => {
      const isAsked = missing === 'one' || 'fault' in origin.known(x, nowMs);
      return (isAsked && origin.ask?.(x, missing)) || [];
    });
    if (waits.length === 0) return undefined;
    return Promise.all(waits).finally(() => (this.#now = undefined));
  }

  /** Joins sets. They are joined again only if one of them has changed. */
  #join(sets: readonly KeySet[]): KeySet {
    const last = this.#last;
    if (last?.sets.length === sets.length && last.sets.every((set, index) => set === sets[index]))
      return last.keys;
    const { algorithms, strictKid } = this.#config;
    const needsKid = strictKid ?? isOfNginz(this.#config);
    const id = sets.map((set) => set.id).join(' ');
    const keys = this.#joined.get(id) ?? joinKeys(sets, { algorithms, needsKid });
    this.#joined.set(id, keys);
    this.#last = { sets, keys };
    return keys;
  }
}
