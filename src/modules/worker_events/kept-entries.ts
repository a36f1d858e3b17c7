import type { Ring, RingEntry, RingFacts } from '../../zone/index.ts';

/** An entry in the form in which responses and streams send it. */
class KeptEntry {
  readonly generation: number;
  readonly channel: string;
  readonly type: string;
  readonly json: string;
  #frame: string | undefined;

  constructor(entry: RingEntry) {
    this.generation = entry.generation;
    this.channel = entry.channel;
    this.type = entry.type;
    this.json = entryJson(entry);
  }

  /** The entry in a stream. */
  get frame(): string {
    // A line end would begin another field; the data contains the unchanged type.
    return (this.#frame ??= `id: ${this.generation}\nevent: ${this.type.replace(/[\r\n]/g, ' ')}\ndata: ${this.json}\n\n`);
  }
}

/** Entries of larger rings are not kept beyond this number, which bounds the memory: an entry has at most some 4 KB. */
const MOST_KEPT = 4_096;
/** Tries to read a page before publishers are made to wait. */
const ATTEMPTS = 3;

/** The entries that a client asks for. Without a channel or type, all match. */
interface PageQuery {
  /** Only later generations. */
  readonly since: number;
  /** At most so many entries, the oldest first. */
  readonly limit: number;
  readonly channel: string | undefined;
  readonly type: string | undefined;
}

/** The state of a ring and the JSON of entries, of one moment. */
export interface Page {
  readonly facts: RingFacts;
  /** Separated by commas. */
  readonly entries: string;
}

/**
 * The entries of a ring with their JSON, which one worker makes once for all responses and streams. A generation is never
 * written twice, so that a kept entry stays right.
 */
export class KeptEntries {
  readonly ring: Ring;
  readonly #kept: (KeptEntry | undefined)[] = [];
  readonly #size: number;

  constructor(ring: Ring) {
    this.ring = ring;
    this.#size = Math.min(ring.capacity, MOST_KEPT);
  }

  /** Gives an entry; `undefined` if it was overwritten or does not exist yet, as in `Ring.read`. */
  entry(generation: number): KeptEntry | undefined {
    const slot = generation % this.#size;
    const kept = this.#kept[slot];
    if (kept?.generation === generation) return kept;
    const entry = this.ring.read(generation);
    if (!entry) return undefined;
    return (this.#kept[slot] = new KeptEntry(entry));
  }

  /** Gives the entries of a query; `undefined` if the ring's lock could not be acquired in 250 ms. */
  page(query: PageQuery): Page | undefined {
    if (this.#size === this.ring.capacity) {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const facts = this.ring.facts();
        const entries = facts && this.#entriesOf(query, facts);
        if (facts && entries !== undefined) return { facts, entries };
      }
    }
    const snapshot = this.ring.snapshot(query);
    return snapshot && { facts: snapshot, entries: snapshot.entries.map(entryJson).join(',') };
  }

  /** The entries of a query as the ring has them at one moment; `undefined` if one of them has been overwritten since. */
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

function entryJson({ generation, channel, type, payload, timestampMs }: RingEntry): string {
  return (
    `{"generation":${generation},"channel":${JSON.stringify(channel)},"type":${JSON.stringify(type)},` +
    `"payload":${JSON.stringify(payload)},"timestamp":${timestampMs}}`
  );
}
