import { EVENT_LIMITS, type Ring, type RingEntry } from '../zone/index.ts';
import type { ForeignEntry, Gap, Subject, Taken } from './subject.ts';

interface RingSubjectParts {
  readonly zone: string;
  readonly ring: Ring;
  /** Identifies the memory of the ring. */
  readonly identity: string;
  /** The number under which the ring knows a node. */
  readonly originOf: (nodeId: string) => number;
  /** The number of this node as the author of events that are for this node only. */
  readonly self: () => number;
}

/** The channel of the events that the cluster itself publishes. */
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

  constructor(parts: RingSubjectParts) {
    const { zone, ring, identity } = parts;
    this.stream = `ev:${zone}`;
    this.digest = `ring:${ring.capacity}`;
    this.incarnation = identity;
    this.history = ring.capacity;
    this.#parts = parts;
    ring.share();
    // The worker that did this before may have died: what it has not sent is still in the ring.
    this.#taken = Math.max(ring.sharedFrom, ring.range()?.oldest ?? 1) - 1;
  }

  get position(): number {
    return this.#parts.ring.position;
  }

  watch(listener: () => void): () => void {
    return this.#parts.ring.watch(listener);
  }

  take(most: number): Taken {
    const { ring } = this.#parts;
    const range = ring.range();
    // A publisher was writing each time; it will wake this again.
    if (!range) return { entries: [], lost: 0 };
    const entries: Taken['entries'][number][] = [];
    let lost = Math.max(0, range.oldest - 1 - this.#taken);
    this.#taken += lost;
    while (this.#taken < range.newest && entries.length < most) {
      const entry = ring.read(this.#taken + 1);
      this.#taken += 1;
      if (!entry) lost += 1;
      else if (entry.origin === 0 && entry.counter === 0)
        entries.push({ sequence: entry.generation, fields: fieldsOf(entry) });
    }
    return { entries, lost };
  }

  confirmed(sequence: number, counter: number): void {
    this.#parts.ring.confirm(sequence, counter);
  }

  accepts(fields: readonly string[]): boolean {
    return eventOf(fields) !== undefined;
  }

  apply(entries: readonly ForeignEntry[], position: number): boolean {
    const { ring, originOf } = this.#parts;
    if (entries.length === 0) {
      ring.movePosition(position);
      return true;
    }
    const events = entries.flatMap(({ fields, origin, sequence, counter }) => {
      const event = eventOf(fields);
      return event ? [{ ...event, origin: originOf(origin), sequence, counter }] : [];
    });
    if (ring.receive(events) === undefined) return false;
    ring.movePosition(position);
    return true;
  }

  tellGap(gap: Gap): void {
    const { ring, self } = this.#parts;
    const payload = JSON.stringify({ stream: this.stream, ...gap });
    const event = { channel: CHANNEL, type: 'cluster_gap', payload, timestampMs: Date.now() };
    // Published as if another node had done it: each node tells its own users of its own gaps.
    const told = { ...event, origin: self(), sequence: 0, counter: ring.position };
    for (let attempt = 0; attempt < ATTEMPTS && ring.receive([told]) === undefined; attempt += 1);
  }

  tellLost(count: number): void {
    const { ring } = this.#parts;
    const payload = JSON.stringify({ stream: this.stream, dropped: count });
    const event = { channel: CHANNEL, type: 'cluster_gap', payload };
    for (let attempt = 0; attempt < ATTEMPTS && ring.publish(event) === undefined; attempt += 1);
  }
}

function fieldsOf({ channel, type, payload, timestampMs }: RingEntry): readonly string[] {
  const fields = ['channel', channel, 'type', type, 'time', String(timestampMs)];
  return payload === null ? fields : [...fields, 'payload', payload];
}

interface SharedEvent {
  readonly channel: string;
  readonly type: string;
  readonly payload: string | null;
  readonly timestampMs: number;
}

/** Reads an event that comes from the store; `undefined` if it is none, or beyond the limits of events. */
function eventOf(fields: readonly string[]): SharedEvent | undefined {
  const given = new Map<string, string>();
  for (let i = 0; i + 1 < fields.length; i += 2) given.set(fields[i] as string, fields[i + 1] as string);
  const channel = given.get('channel') ?? '';
  const type = given.get('type') ?? '';
  const payload = given.get('payload') ?? null;
  const time = given.get('time') ?? '';
  const fits =
    fitsIn(channel, EVENT_LIMITS.channelBytes) &&
    fitsIn(type, EVENT_LIMITS.typeBytes) &&
    Buffer.byteLength(payload ?? '') <= EVENT_LIMITS.payloadBytes;
  if (!fits || !/^\d{1,15}$/.test(time)) return undefined;
  return { channel, type, payload, timestampMs: Number(time) };
}

function fitsIn(text: string, bytes: number): boolean {
  return text !== '' && Buffer.byteLength(text) <= bytes;
}
