import type { PurgeList } from '../../zone/index.ts';
import type { KeptPosition, StreamPosition } from './kept-position.ts';

/** A purge of one cache. */
export interface ZonePurge extends PurgeList {
  readonly zone: string;
}

interface PurgedCache {
  /** Purged entries that are not loaded yet are removed when they are, but only by the same process. */
  readonly index: { readonly isLoaded: boolean };
  purgeAll(purges: PurgeList, by: 'cluster'): Promise<unknown>;
}

/** The caches of a configuration, and those of them that a location shares. */
export interface SharedCaches {
  /** The caches of this worker. Their indexes are in shared memory, so that a purge holds for all workers. */
  readonly caches: ReadonlyMap<string, PurgedCache>;
  /** The names of the caches that are shared. */
  readonly zones: ReadonlySet<string>;
  /** The shared caches are emptied after a gap: the purges that were missed may have concerned any entry. */
  readonly empties: boolean;
}

interface PurgeQueueParts {
  /** Returns the caches of all locations and configurations, the latest first. */
  readonly shared: () => readonly SharedCaches[];
  readonly position: KeptPosition;
}

/** Maximum texts of one purge: every entry is compared with all of them while the index is locked. */
const MOST_TEXTS = 1_000;
/** Maximum characters of the texts that wait. Purges beyond that are read from the store again later. */
const MOST_WAITING = 4_194_304;
/** How often to check whether a cache has been loaded. */
const LOADING_MS = 250;
/** An empty prefix means all entries. */
const EVERYTHING: PurgeList = { kind: 'prefix', texts: [''] };

/** Purges of one zone and kind that wait, without repetitions. */
interface WaitingPurge {
  readonly zone: string;
  readonly kind: PurgeList['kind'];
  readonly texts: Set<string>;
}

/** The purges of other nodes that wait to be done here. Keeps the counter up to which they were done in a file. */
export class PurgeQueue {
  readonly #parts: PurgeQueueParts;
  #waiting = new Map<string, WaitingPurge>();
  #characters = 0;
  #empties = false;
  #taken: StreamPosition | undefined;
  #done: StreamPosition | undefined;
  #running: Promise<void> | undefined;
  /** Caches that were purged before they were loaded. */
  readonly #unloaded = new Set<PurgedCache>();
  #loading: NodeJS.Timeout | undefined;

  constructor(parts: PurgeQueueParts) {
    this.#parts = parts;
    this.#taken = this.#done = parts.position.reached;
  }

  /** The counter up to which purges were taken; `undefined`: it is unknown. */
  get position(): number | undefined {
    return this.#taken?.counter;
  }

  /** The birth of the stream that the counter belongs to; 0: it is unknown. */
  get birth(): number {
    return this.#taken?.birth ?? 0;
  }

  set birth(birth: number) {
    if (!this.#taken || this.#taken.birth === birth) return;
    this.#taken = { ...this.#taken, birth };
    this.#begin();
  }

  /** Takes purges up to a counter. Returns false if too many wait already. */
  add(purges: readonly ZonePurge[], position: number): boolean {
    if (purges.length > 0 && this.#characters > MOST_WAITING) return false;
    // The position is unknown: caches may have entries of a former process whose purges were missed.
    if (this.#taken === undefined && position > 0) this.#empties = true;
    for (const { zone, kind, texts } of purges) this.#wait({ zone, kind }, texts);
    this.#taken = { counter: position, birth: this.birth };
    this.#begin();
    return true;
  }

  /** Called when purges were missed: empties the caches. */
  empty(): void {
    this.#empties = true;
    this.#begin();
  }

  /** Resolves when all purges are done and the position is written. */
  async close(): Promise<void> {
    await this.#running;
    clearTimeout(this.#loading);
    await this.#parts.position.close();
  }

  #wait({ zone, kind }: Omit<ZonePurge, 'texts'>, texts: readonly string[]): void {
    const name = `${kind} ${zone}`;
    const known = this.#waiting.get(name) ?? { zone, kind, texts: new Set() };
    this.#waiting.set(name, known);
    for (const text of texts) {
      known.texts.add(text);
      this.#characters += text.length;
    }
  }

  #begin(): void {
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
  }

  async #run(): Promise<void> {
    while (this.#empties || this.#waiting.size > 0 || this.#done !== this.#taken) {
      const [waiting, empties, position] = [this.#waiting, this.#empties, this.#taken];
      this.#waiting = new Map();
      this.#characters = 0;
      this.#empties = false;
      if (empties) await this.#emptyAll();
      for (const one of waiting.values()) await this.#purge(one);
      this.#done = position;
      this.#keep();
    }
  }

  async #purge({ zone, kind, texts }: WaitingPurge): Promise<void> {
    const shared = this.#parts.shared().find(({ zones }) => zones.has(zone));
    const cache = shared?.caches.get(zone);
    if (!cache) return;
    const all = [...texts];
    for (let at = 0; at < all.length; at += MOST_TEXTS)
      await this.#purgeAll(cache, { kind, texts: all.slice(at, at + MOST_TEXTS) });
  }

  async #emptyAll(): Promise<void> {
    const emptied = new Map<string, PurgedCache>();
    for (const { caches, zones, empties } of this.#parts.shared()) {
      for (const zone of empties ? zones : []) {
        const cache = emptied.get(zone) ?? caches.get(zone);
        if (cache) emptied.set(zone, cache);
      }
    }
    await Promise.all([...emptied.values()].map((cache) => this.#purgeAll(cache, EVERYTHING)));
  }

  async #purgeAll(cache: PurgedCache, purges: PurgeList): Promise<void> {
    if (!cache.index.isLoaded) this.#unloaded.add(cache);
    await cache.purgeAll(purges, 'cluster');
  }

  /** Keeps the position once purged caches are loaded. If the process ends before, the next one repeats the purges. */
  #keep(): void {
    clearTimeout(this.#loading);
    for (const cache of this.#unloaded) if (cache.index.isLoaded) this.#unloaded.delete(cache);
    if (this.#unloaded.size === 0) this.#parts.position.reached = this.#done;
    else this.#loading = setTimeout(() => this.#keep(), LOADING_MS).unref();
  }
}
