import { eventFields, readEventFields, type Ring } from '../../zone/index.ts';
import type { AcknowledgedEntry, RemoteEntry, Gap, Subject, Taken } from '../node/index.ts';

interface RingSubjectParts {
  readonly zone: string;
  readonly ring: Ring;
  /** Identifies the memory of the ring. */
  readonly identity: string;
  /** Identifies the store and its namespace: 48 bits. */
  readonly store: number;
  /** Returns the number of a node in the ring. */
  readonly originOf: (nodeId: string) => number;
  /** Returns the number of this node, as the origin of events that are for this node only. */
  readonly self: () => number;
}

/** The channel of events that the cluster itself publishes. */
const CHANNEL = 'cluster';
/** Busy publishers can keep the lock of a ring from others for a moment. */
const ATTEMPTS = 3;

/** The events of a ring that all nodes share. */
export class RingSubject implements Subject {
  readonly stream: string;
  readonly digest: string;
  readonly incarnation: string;
  readonly history: number;
  readonly #parts: RingSubjectParts;
  /** The last generation that was taken. */
  #taken: number;
  /** Local generations that were taken and are not acknowledged yet. */
  #unacknowledged: number[] = [];
  /** The number of events that were overwritten before a worker could take them. */
  #lost: number;

  constructor(parts: RingSubjectParts) {
    const { zone, ring, identity, store } = parts;
    this.stream = `ev:${zone}`;
    this.digest = `ring:${ring.capacity}`;
    this.incarnation = identity;
    this.history = ring.capacity;
    this.#parts = parts;
    // The worker that ran the node before may have died: events that it has not sent may still be in the ring.
    const from = ring.share(store) ?? ring.sharedFrom;
    const oldest = ring.range()?.oldest ?? from;
    this.#lost = Math.max(0, oldest - from);
    this.#taken = Math.max(from, oldest) - 1;
  }

  get position(): number | undefined {
    const { position } = this.#parts.ring;
    return position === 0 ? undefined : position;
  }

  watch(listener: () => void): () => void {
    return this.#parts.ring.watch(listener);
  }

  take(most: number): Taken {
    const { ring } = this.#parts;
    const range = ring.range();
    // Publishers were writing at each attempt; they wake this subject again.
    if (!range) return { entries: [], lost: 0 };
    const entries: Taken['entries'][number][] = [];
    let lost = this.#lost + Math.max(0, range.oldest - 1 - this.#taken);
    this.#taken = Math.max(this.#taken, range.oldest - 1);
    this.#lost = 0;
    while (this.#taken < range.newest && entries.length < most) {
      const entry = ring.read(this.#taken + 1);
      this.#taken += 1;
      if (!entry) lost += 1;
      else if (entry.origin === 0 && entry.counter === 0)
        entries.push({ sequence: entry.generation, fields: eventFields(entry) });
    }
    for (const { sequence } of entries) this.#unacknowledged.push(sequence);
    if (this.#unacknowledged.length === 0) this.#advance();
    return { entries, lost };
  }

  acknowledged(entries: readonly AcknowledgedEntry[]): void {
    const { ring } = this.#parts;
    const events = entries.map(({ sequence: generation, counter }) => ({ generation, counter }));
    for (let attempt = 0; attempt < ATTEMPTS && ring.confirm(events) === undefined; attempt += 1);
    const last = entries.at(-1)?.sequence ?? 0;
    // Earlier ones were dropped, and that was told.
    const left = this.#unacknowledged.findIndex((sequence) => sequence > last);
    this.#unacknowledged = left < 0 ? [] : this.#unacknowledged.slice(left);
    this.#advance();
  }

  accepts(fields: readonly string[]): boolean {
    return readEventFields(fields) !== undefined;
  }

  apply(entries: readonly RemoteEntry[], position: number, behind: number): boolean {
    const { ring, originOf } = this.#parts;
    const events = entries.flatMap(({ fields, origin, sequence, counter }) => {
      const event = readEventFields(fields);
      return event ? [{ ...event, origin: originOf(origin), sequence, counter }] : [];
    });
    if (events.length > 0) {
      const last = ring.receive(events, behind);
      if (last === undefined || last === 0) return false;
      // If nothing was published in between, there is nothing to take.
      if (last - events.length === this.#taken) this.#taken = last;
    }
    return ring.movePosition(position);
  }

  tellGap(gap: Gap): void {
    this.announce('cluster_gap', { stream: this.stream, ...gap });
  }

  /** Publishes an event for the users of this node only. */
  announce(type: string, facts: Readonly<Record<string, unknown>>): void {
    const { ring, self } = this.#parts;
    const event = { channel: CHANNEL, type, payload: JSON.stringify(facts), timestampMs: Date.now() };
    // Received as if from another node: an event that is published goes to the store.
    const told = { ...event, origin: self(), sequence: 0, counter: ring.position };
    for (let attempt = 0; attempt < ATTEMPTS && ring.receive([told]) === undefined; attempt += 1);
  }

  tellLost(count: number): void {
    const { ring } = this.#parts;
    const payload = JSON.stringify({ stream: this.stream, dropped: count });
    const event = { channel: CHANNEL, type: 'cluster_gap', payload };
    for (let attempt = 0; attempt < ATTEMPTS && ring.publish(event) === undefined; attempt += 1);
  }

  /** Notes in the ring from where on another worker would have to send. */
  #advance(): void {
    this.#parts.ring.sharedUpTo(this.#unacknowledged[0] ?? this.#taken + 1);
  }
}
