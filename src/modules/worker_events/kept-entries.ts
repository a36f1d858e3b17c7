import type { Ring, RingEntry, RingFacts } from '../../zone/index.ts';
import type { SharedIds } from './shared-ids.ts';

/** An entry in the form in which responses and streams send it. */
class KeptEntry {
  readonly generation: number;
  readonly channel: string;
  readonly type: string;
  readonly json: string;
  readonly #id: string | number;
  #frame: string | undefined;

  constructor(entry: RingEntry, ids: SharedIds | undefined) {
    this.generation = entry.generation;
    this.channel = entry.channel;
    this.type = entry.type;
    this.json = entryJson(entry, ids);
    this.#id = ids ? ids.idOf(entry) : entry.generation;
  }

  /** The entry as server-sent event. */
  get frame(): string {
    // A line end would begin another field; the data contains the unchanged type.
    return (this.#frame ??= `id: ${this.#id}\nevent: ${this.type.replace(/[\r\n]/g, ' ')}\ndata: ${this.json}\n\n`);
  }
}

/** Entries of larger rings are not kept beyond this number, which bounds the memory: an entry has at most some 4 KB. */
const MOST_KEPT = 4_096;
/** Attempts to read a page without the lock, for which publishers have to wait. */
const ATTEMPTS = 3;

/** The entries that a client requests. Without a channel or type, all match. */
interface PageQuery {
  /** Only later generations. */
  readonly since: number;
  /** Maximum number of entries; the oldest are sent. */
  readonly limit: number;
  readonly channel: string | undefined;
  readonly type: string | undefined;
}

/** The state of a ring and the JSON of entries at the same moment. */
export interface Page {
  readonly facts: RingFacts;
  /** Separated by commas. */
  readonly entries: string;
}

/**
 * The entries of a ring with their JSON, which one worker makes once for all responses and streams. A generation is
 * never written twice, so a kept entry never changes.
 */
export class KeptEntries {
  readonly ring: Ring;
  /** Present if gateways of a cluster share the ring. */
  readonly ids: SharedIds | undefined;
  readonly #kept: (KeptEntry | undefined)[] = [];
  readonly #size: number;

  constructor(ring: Ring, ids?: SharedIds) {
    this.ring = ring;
    this.ids = ids;
    this.#size = Math.min(ring.capacity, MOST_KEPT);
  }

  /** Returns an entry; `undefined` if it was overwritten or does not exist yet, as in `Ring.read`. */
  entry(generation: number): KeptEntry | undefined {
    const slot = generation % this.#size;
    const kept = this.#kept[slot];
    if (kept?.generation === generation) return kept;
    const entry = this.ring.read(generation);
    if (!entry) return undefined;
    return (this.#kept[slot] = new KeptEntry(entry, this.ids));
  }

  /** Returns the entries of a query; `undefined` if the ring's lock could not be acquired in 250 ms. */
  page(query: PageQuery): Page | undefined {
    if (this.#size === this.ring.capacity) {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const facts = this.ring.facts();
        const entries = facts && this.#entriesOf(query, facts);
        if (facts && entries !== undefined) return { facts, entries };
      }
    }
    const snapshot = this.ring.snapshot(query);
    return (
      snapshot && {
        facts: snapshot,
        entries: snapshot.entries.map((entry) => entryJson(entry, this.ids)).join(','),
      }
    );
  }

  /** Returns the entries of a query at the moment of `facts`; `undefined` if one has been overwritten since. */
  #entriesOf({ since, limit, channel, type }: PageQuery, facts: RingFacts): string | undefined {
    let text = '';
    let found = 0;
    const first = Math.max(since + 1, facts.oldestGeneration);
    for (let generation = first; generation <= facts.newestGeneration && found < limit; generation += 1) {
      const entry = this.entry(generation);
      if (!entry) return undefined;
      if (channel !== undefined && entry.channel !== channel) continue;
      if (type !== undefined && entry.type !== type) continue;
      text += found === 0 ? entry.json : `,${entry.json}`;
      found += 1;
    }
    return text;
  }
}

function entryJson(entry: RingEntry, ids: SharedIds | undefined): string {
  const { generation, channel, type, payload, timestampMs } = entry;
  return (
    `{"generation":${generation},"channel":${JSON.stringify(channel)},"type":${JSON.stringify(type)},` +
    `"payload":${JSON.stringify(payload)},"timestamp":${timestampMs}${ids?.authorJson(entry) ?? ''}}`
  );
}
