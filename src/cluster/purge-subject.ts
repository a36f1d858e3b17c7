import { randomBytes } from 'node:crypto';
import type { PurgeList } from '../zone/index.ts';
import type { KeptPosition } from './kept-position.ts';
import type { ForeignEntry, Subject, Taken } from './subject.ts';

/** A purge of one cache. */
export interface ZonePurge extends PurgeList {
  readonly zone: string;
}

interface PurgedCache {
  purgeAll(purges: PurgeList, by: 'cluster'): Promise<unknown>;
}

/** What a location shares of the caches of its configuration. */
export interface SharedCaches {
  /** The caches of this worker. Their indexes are in shared memory: what one worker purges no worker serves. */
  readonly caches: ReadonlyMap<string, PurgedCache>;
  /** The names of those that are shared. */
  readonly zones: ReadonlySet<string>;
  /** After a gap they are emptied: what was missed may have meant any entry. */
  readonly empties: boolean;
}

interface PurgeSubjectParts {
  /** Of all locations and configurations, the latest first. */
  readonly shared: () => readonly SharedCaches[];
  readonly position: KeptPosition;
}

const KINDS: readonly string[] = ['key', 'prefix', 'tag', 'tag prefix'];
/** What a prefix that is empty means: all entries. */
const EVERYTHING: PurgeList = { kind: 'prefix', texts: [''] };
/** Characters of the texts of one entry, unless a single one is longer. */
const LONGEST_PART = 16_384;
/** The entry of a node that could not send some of its purges. */
const LOST = ['lost', 'some'] as const;

/** The purges of stored responses, which all nodes do. They go on from where the process before was. */
export class PurgeSubject implements Subject {
  readonly stream = 'pu';
  readonly digest = 'pu:1';
  readonly incarnation = randomBytes(9).toString('hex');
  /** What was purged before a node began is in none of its caches. */
  readonly history = 0;
  readonly #parts: PurgeSubjectParts;
  readonly #own: (readonly string[])[] = [];
  #sequence = 0;
  #listener: () => void = () => undefined;
  /** Purges that are not done yet. */
  #running: Promise<unknown> = Promise.resolve();

  constructor(parts: PurgeSubjectParts) {
    this.#parts = parts;
  }

  get position(): number | undefined {
    return this.#parts.position.counter;
  }

  /** Adds a purge that this node has done. */
  add({ zone, kind, texts }: ZonePurge): void {
    for (const part of partsOf(texts))
      this.#own.push(['zone', zone, 'kind', kind, 'texts', JSON.stringify(part)]);
    this.#listener();
  }

  watch(listener: () => void): () => void {
    this.#listener = listener;
    return () => (this.#listener = () => undefined);
  }

  take(most: number): Taken {
    const entries = this.#own.splice(0, most).map((fields) => ({ sequence: (this.#sequence += 1), fields }));
    return { entries, lost: 0 };
  }

  confirmed(): void {
    // Nobody waits for it.
  }

  accepts(fields: readonly string[]): boolean {
    return isLost(fields) || purgeOf(fields) !== undefined;
  }

  apply(entries: readonly ForeignEntry[], position: number): boolean {
    const done = entries.map(({ fields }) => this.#purge(fields));
    this.#running = Promise.all([this.#running, ...done]).then(() => {
      // Not before they are done: a process that ends in between does them again.
      this.#parts.position.counter = position;
    });
    return true;
  }

  tellGap(): void {
    void this.#empty();
  }

  tellLost(): void {
    this.#own.push(LOST);
    this.#listener();
  }

  /** Resolves when all purges are done, and the position is in its file. */
  async close(): Promise<void> {
    await this.#running;
    await this.#parts.position.close();
  }

  async #purge(fields: readonly string[]): Promise<void> {
    if (isLost(fields)) return this.#empty();
    const purge = purgeOf(fields);
    if (!purge) return;
    const shared = this.#parts.shared().find(({ zones }) => zones.has(purge.zone));
    await shared?.caches.get(purge.zone)?.purgeAll(purge, 'cluster');
  }

  async #empty(): Promise<void> {
    const emptied = new Map<string, PurgedCache>();
    for (const { caches, zones, empties } of this.#parts.shared()) {
      for (const zone of empties ? zones : []) {
        const cache = emptied.get(zone) ?? caches.get(zone);
        if (cache) emptied.set(zone, cache);
      }
    }
    await Promise.all([...emptied.values()].map((cache) => cache.purgeAll(EVERYTHING, 'cluster')));
  }
}

/** Splits a list, so that no entry of the store is much longer than `LONGEST_PART`. */
function partsOf(texts: readonly string[]): readonly (readonly string[])[] {
  const parts: string[][] = [];
  let room = 0;
  for (const text of texts) {
    room -= text.length;
    if (room < 0) {
      parts.push([]);
      room = LONGEST_PART - text.length;
    }
    parts.at(-1)?.push(text);
  }
  return parts;
}

function isLost([name, value]: readonly string[]): boolean {
  return name === LOST[0] && value === LOST[1];
}

/** Reads a purge that comes from the store; `undefined` if it is none. */
function purgeOf([, zone = '', , kind = '', name = '', json = '']: readonly string[]): ZonePurge | undefined {
  if (name !== 'texts' || !KINDS.includes(kind)) return undefined;
  try {
    const texts = JSON.parse(json) as unknown;
    const isList = Array.isArray(texts) && texts.every((text) => typeof text === 'string');
    return isList ? { zone, kind: kind as PurgeList['kind'], texts: texts as string[] } : undefined;
  } catch {
    return undefined;
  }
}
