import type { WorkerScope } from '../../../contract/index.ts';
import type { Exchange } from '../../../http/index.ts';
import { LOG_TAIL, openRing, type Ring, type RingEntry } from '../../../zone/index.ts';
import { ControlFault } from '../endpoint.ts';
import type { EventEntry, EventPage } from './contract.ts';

const WAIT_MS = 20_000;
/** Maximum number of entries in one response. */
const MAX_ENTRIES = 500;

/** The parameters of a request for a ring's entries. */
export interface FeedQuery {
  readonly since: number;
  /** Wait until there is a new entry. */
  readonly wait: boolean;
}

/** The rings of one configuration, as the console reads them. */
export class Feeds {
  /** Names of the zones that the operator has declared. */
  readonly zones: readonly string[];
  readonly #worker: WorkerScope;
  readonly #rings = new Map<string, Ring>();

  constructor(worker: WorkerScope) {
    this.#worker = worker;
    const names = worker.view.zones.flatMap(({ kind, name }) => (kind === 'ring' ? [name] : []));
    this.zones = names.filter((name) => name !== LOG_TAIL.name);
  }

  /** Returns entries of a ring. Throws a `ControlFault` (404) if the zone is not a ring. */
  async events(zone: string, question: FeedQuery, x: Exchange): Promise<EventPage> {
    const name = zone || this.zones[0];
    if (name === undefined) return { zones: [], capacity: 0, newest: 0, dropped: 0, entries: [] };
    if (!this.zones.includes(name)) throw new ControlFault(404, `no event ring "${name}"`);
    const page = await this.#read(name, question, x);
    return { zones: this.zones, zone: name, ...page };
  }

  log(question: FeedQuery, x: Exchange): Promise<Omit<EventPage, 'zones' | 'zone'>> {
    return this.#read(LOG_TAIL.name, question, x);
  }

  async #read(
    name: string,
    { since, wait }: FeedQuery,
    x: Exchange,
  ): Promise<Omit<EventPage, 'zones' | 'zone'>> {
    const ring = this.#ring(name);
    if (wait && ring.range()?.newest === since) await this.#news(ring, x);
    const { newest = 0 } = ring.range() ?? {};
    // A generation greater than the newest comes from before a restart of the gateway.
    const after = since > newest ? 0 : Math.max(since, newest - MAX_ENTRIES);
    const snapshot = ring.snapshot({ since: after });
    if (!snapshot) throw new ControlFault(503, 'the ring is busy');
    const { capacity, newestGeneration, droppedEvents, entries } = snapshot;
    return { capacity, newest: newestGeneration, dropped: droppedEvents, entries: entries.map(shownEntry) };
  }

  #ring(name: string): Ring {
    const known = this.#rings.get(name) ?? openRing(this.#worker.zone(name), this.#worker.workerId);
    this.#rings.set(name, known);
    return known;
  }

  /** Resolves at the next publish, after a timeout, when the client leaves, or when this configuration retires. */
  #news(ring: Ring, x: Exchange): Promise<void> {
    const { retiring } = this.#worker;
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        stop();
        retiring.removeEventListener('abort', done);
        resolve();
      };
      const stop = ring.watch(done);
      const timer = setTimeout(done, WAIT_MS);
      retiring.addEventListener('abort', done);
      x.onAbort(done);
      if (retiring.aborted) done();
    });
  }
}

function shownEntry({ generation, channel, type, payload, timestampMs }: RingEntry): EventEntry {
  return { generation, channel, type, payload, timestampMs };
}
