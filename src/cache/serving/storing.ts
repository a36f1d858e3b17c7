import type { CacheStore } from '../store/store.ts';
import type { Lifetime } from '../store/lifetime.ts';
import { nameOf, variantName, type VariantOf } from '../store/entry-name.ts';
import type { Variants } from '../store/entry-head.ts';
import type { Exchange } from '../../http/index.ts';
import { type BodyTaker, type Pace, pacedBody } from '../../bodies/index.ts';
import type { AcceptedResponse, StoredSource } from './response-keeper.ts';
import type { Part } from './stored-delivery.ts';
import { StoringRelay } from './storing-relay.ts';

/** A response that may be stored. */
interface Storable {
  readonly store: CacheStore;
  readonly key: string;
  /** The variants of the key, as the cache has them. */
  readonly varies: Variants | undefined;
  readonly since: number;
  readonly tags: readonly string[];
  readonly accepted: AcceptedResponse;
  readonly lifetime: Lifetime;
}

/** The client that gets the response meanwhile. */
interface Receiver {
  readonly x: Exchange;
  readonly source: StoredSource;
  /** Decides which part the client gets; called if the response is stored. */
  readonly decide: () => Part | undefined;
  readonly variantOf: VariantOf;
  readonly readAheadBytes: number;
  readonly pace: Pace;
  /** Called when the response is stored, or will not be. */
  readonly done: () => void;
}

/** Longest time for which a variant is locked while it is fetched. */
const LOCK_AGE_MS = 60_000;

/** Stores a response while it is received. `undefined`: it is not stored. */
export function storeWith(storable: Storable, receiver: Receiver): BodyTaker | undefined {
  const { store, key, accepted, lifetime, since } = storable;
  const { head } = accepted;
  const { times } = lifetime;
  const varies = variantsOf(storable);
  const name = varies ? variantName(key, varies, receiver.variantOf) : nameOf(key);
  const unlock = varies ? lockVariant(store, { key, digest: name.digest }) : undefined;
  const { status, reason, headers, isPlain, announcedBytes } = head;
  const fill = store.fill({
    name,
    times,
    since,
    description: {
      key,
      variant: name.variant,
      tags: storable.tags,
      response: { status, reason, headers, isPlain, announcedBytes },
    },
    done() {
      unlock?.();
      receiver.done();
    },
  });
  if (!fill) {
    unlock?.();
    return undefined;
  }
  const { x, source, decide, readAheadBytes, pace } = receiver;
  const part = decide();
  const withdraw = (): void => source.withdraw();
  return pacedBody(
    source,
    pace,
    (paced) => new StoringRelay(x, { fill, source: paced, withdraw, part, readAheadBytes }),
  );
}

/** Returns the variants that a response belongs to: new ones if it depends on other headers than earlier responses. */
function variantsOf({ store, key, varies, since, lifetime }: Storable): Variants | undefined {
  const { varies: names, times } = lifetime;
  if (names.length === 0) return undefined;
  if (varies && varies.names.join() === names.join()) return varies;
  return store.vary(key, names, { since, times });
}

/** Ends the lock of the key once its variants are known. From then on, each variant has its own lock. */
function lockVariant(store: CacheStore, { key, digest }: { key: string; digest: Buffer }): () => void {
  const { index, locks } = store;
  const nowMs = store.now();
  index.use(digest, key, nowMs);
  const ticket = index.lock(digest, { nowMs, ageMs: LOCK_AGE_MS });
  return () => locks.release(digest, ticket);
}
