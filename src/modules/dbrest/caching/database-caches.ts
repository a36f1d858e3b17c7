import { createHash } from 'node:crypto';
import type { CacheStore } from '../../../cache/index.ts';
import type { TableName } from '../schema/index.ts';
import { Relatives, relationName, tagOf } from './tags.ts';

/** Time for which the workers rely on the listener without hearing of it, and the interval at which it renews that. */
const LEASE_MS = 1_000;
const RENEW_MS = 250;

/** The state of the listening session, which the workers of the process share. */
interface Listener {
  /** Notifications that arrive until then are heard; 0 ends it. */
  holdLease(ms: number): void;
  readonly isLeaseHeld: boolean;
  /** Counts a change of the schema that the database has announced. */
  announce(): void;
  readonly announced: number;
}

interface CachesParts {
  /** Identifies the database among those whose responses are in one cache. */
  readonly database: string;
  readonly listener: Listener;
  /** Reads one row with one text. */
  readonly readRelatives: () => Promise<string>;
}

/** The caches with responses of one database, in one worker. Writes remove the responses that they change. */
export class DatabaseCaches {
  /** The keys of all responses of the database begin so. */
  readonly prefix: string;
  readonly #parts: CachesParts;
  /** The caches, each with the number of locations that use it, and of those that rely on notifications. */
  readonly #stores = new Map<CacheStore, { users: number; listening: number }>();
  #relatives: Promise<Relatives> | undefined = undefined;
  #timer: NodeJS.Timeout | undefined = undefined;
  #session = 0;
  #announced: number;

  constructor(parts: CachesParts) {
    this.#parts = parts;
    this.#announced = parts.listener.announced;
    const digest = createHash('sha256').update(parts.database).digest('base64url').slice(0, 16);
    this.prefix = `dbrest ${digest} `;
  }

  /** Adds a location that uses a cache. Returns the function that removes it. `listens`: it relies on notifications. */
  add(store: CacheStore, listens: boolean): () => void {
    const known = this.#stores.get(store) ?? { users: 0, listening: 0 };
    this.#stores.set(store, known);
    // Writes while no location used the cache are not known.
    if (listens && known.listening === 0) void this.#purgeAll([store]);
    known.users += 1;
    known.listening += listens ? 1 : 0;
    return () => {
      known.users -= 1;
      known.listening -= listens ? 1 : 0;
      if (known.users === 0) this.#stores.delete(store);
    };
  }

  get isUsed(): boolean {
    return this.#stores.size > 0;
  }

  /** Notifications are heard: responses may be stored and served. */
  get isLive(): boolean {
    return this.#parts.listener.isLeaseHeld;
  }

  /** The dependencies of relations, by the present schema. Rejects if the database cannot be asked. */
  relatives(): Promise<Relatives> {
    const reading = (this.#relatives ??= this.#parts.readRelatives().then((json) => new Relatives(json)));
    reading.catch(() => {
      if (this.#relatives === reading) this.#relatives = undefined;
    });
    return reading;
  }

  /** Removes the responses that a write may have changed. Resolves when no worker serves them any more. */
  async wrote(table: TableName): Promise<void> {
    if (this.isUsed) await this.#purgeRelation(relationName(table), [...this.#stores.keys()], 'write');
  }

  /** A notification has arrived. */
  heard(payload: string): void {
    const stores = this.#listening;
    if (stores.length === 0) return;
    void (payload === '*' ? this.#purgeAll(stores) : this.#purgeRelation(payload, stores, 'notify'));
  }

  /** The database has announced another schema, which is going to be read. */
  schemaAnnounced(): void {
    this.#parts.listener.announce();
    if (this.isUsed) void this.#purgeAll();
  }

  /**
   * The schema was read again. `isSame`: it has the same relations. Views and policies may differ nevertheless, but
   * then the database has announced it. A client that names something unknown must not be able to empty the cache.
   */
  schemaRead(isSame: boolean): void {
    this.#relatives = undefined;
    const { announced } = this.#parts.listener;
    if (this.isUsed && !(isSame && announced === this.#announced)) void this.#purgeAll();
    this.#announced = announced;
  }

  /** This worker listens from now on, for the first time or again: announcements meanwhile were missed. */
  async listening(): Promise<void> {
    const session = ++this.#session;
    await this.#purgeAll(this.#listening);
    if (session !== this.#session) return;
    const renew = (): void => this.#parts.listener.holdLease(LEASE_MS);
    renew();
    clearInterval(this.#timer);
    this.#timer = setInterval(renew, RENEW_MS).unref();
  }

  /** This worker listens no more. */
  lost(): void {
    this.#session += 1;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#parts.listener.holdLease(0);
  }

  /** The caches of locations that rely on notifications. */
  get #listening(): readonly CacheStore[] {
    return [...this.#stores].filter(([, { listening }]) => listening > 0).map(([store]) => store);
  }

  async #purgeRelation(name: string, stores: readonly CacheStore[], by: 'write' | 'notify'): Promise<void> {
    try {
      const relatives = await this.relatives();
      const texts = [...relatives.changedBy(name)].map(tagOf);
      await Promise.all(stores.map((store) => store.purgeAll({ kind: 'tag', texts }, by)));
    } catch {
      // Without knowing what depends on the relation, everything may.
      await this.#purgeAll(stores, by);
    }
  }

  async #purgeAll(
    stores: Iterable<CacheStore> = this.#stores.keys(),
    by: 'write' | 'notify' = 'notify',
  ): Promise<void> {
    const purge = { kind: 'prefix', text: this.prefix } as const;
    await Promise.all([...stores].map((store) => store.purge(purge, by)));
  }
}
