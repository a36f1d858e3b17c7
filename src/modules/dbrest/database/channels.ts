import type { ErrorLog } from '../../../log/index.ts';
import { type Ring, EVENT_LIMITS, type RingEntry } from '../../../zone/index.ts';

/** The rings of one channel, each with the number of its users. */
type Rings = Map<Ring, number>;

/**
 * The channels that the locations of one database listen to, in one worker. The worker whose session listens writes the
 * notifications into the rings, which all workers read.
 */
export class Channels {
  readonly #ringsOf = new Map<string, Rings>();
  readonly #log: ErrorLog;
  #changed = (): void => undefined;

  constructor(log: ErrorLog) {
    this.#log = log;
  }

  get names(): readonly string[] {
    return [...this.#ringsOf.keys()];
  }

  /** Sets the function to call when the names have changed. */
  whenChanged(run: () => void): void {
    this.#changed = run;
  }

  /** Sends the notifications of a channel to a ring. Returns the function that stops this. */
  add(name: string, ring: Ring): () => void {
    const rings: Rings = this.#ringsOf.get(name) ?? new Map<Ring, number>();
    this.#ringsOf.set(name, rings.set(ring, (rings.get(ring) ?? 0) + 1));
    this.#changed();
    return () => {
      const users = (rings.get(ring) ?? 0) - 1;
      if (users > 0) return void rings.set(ring, users);
      rings.delete(ring);
      if (rings.size === 0) this.#ringsOf.delete(name);
      this.#changed();
    };
  }

  /** A notification has arrived. */
  heard(name: string, payload: string): void {
    for (const ring of this.#ringsOf.get(name)?.keys() ?? [])
      if (!publishNotification(ring, name, payload)) this.#logLost(name);
  }

  /** Listening has begun again: notifications sent meanwhile were missed. */
  gap(): void {
    const rings = new Set([...this.#ringsOf.values()].flatMap((each) => [...each.keys()]));
    for (const ring of rings) if (!publishGap(ring)) this.#logLost('*');
  }

  #logLost(name: string): void {
    this.#log.write('error', `dbrest: a notification of channel "${name}" is lost: the ring is busy`);
  }
}

/** The content of a ring at a generation, as far as it comes from the database. */
export type RingNotification =
  | { readonly kind: 'notification'; readonly channel: string; readonly payload: string }
  /** The session that listens was lost, and notifications with it. */
  | { readonly kind: 'gap' }
  /** A piece of a payload that ends later, or an event of another publisher. */
  | { readonly kind: 'other' };

/** The type of an entry with a whole payload; pieces of a longer one are `notify 1/3`, `notify 2/3` … */
const WHOLE = 'notify';
const GAP = 'gap';
/** The channel of a gap, which concerns all of them. */
const ALL_CHANNELS = '*';

/** Appends a notification. An entry takes 512 bytes of a payload, so that a longer one (up to 8,000) takes several. */
function publishNotification(ring: Ring, channel: string, payload: string): boolean {
  const pieces = piecesOf(payload);
  const count = pieces.length;
  return (
    ring.publishAll(
      pieces.map((piece, i) => ({
        channel,
        type: count === 1 ? WHOLE : `${WHOLE} ${i + 1}/${count}`,
        payload: piece,
      })),
    ) !== undefined
  );
}

/** Appends the note that notifications may have been lost. */
function publishGap(ring: Ring): boolean {
  return ring.publishAll([{ channel: ALL_CHANNELS, type: GAP }]) !== undefined;
}

/** Cuts a text into pieces of at most 512 bytes of UTF-8, between characters. */
function piecesOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const pieces: string[] = [];
  let from = 0;
  do {
    let to = Math.min(from + EVENT_LIMITS.payloadBytes, bytes.length);
    // Bytes 10xxxxxx go on with a character.
    while (to < bytes.length && ((bytes[to] as number) & 0xc0) === 0x80) to -= 1;
    pieces.push(bytes.toString('utf8', from, to));
    from = to;
  } while (from < bytes.length);
  return pieces;
}

/**
 * Reads the entry of a ring at a generation. A payload in pieces is read at its last piece. Returns `undefined` if the
 * entry was overwritten, wholly or in part, or is not complete yet.
 */
export function readNotification(ring: Pick<Ring, 'read'>, generation: number): RingNotification | undefined {
  const entry = ring.read(generation);
  if (!entry) return undefined;
  const { channel, type, payload } = entry;
  if (type === WHOLE) return { kind: 'notification', channel, payload: payload ?? '' };
  if (type === GAP && channel === ALL_CHANNELS) return { kind: 'gap' };
  const [, piece, count] = /^notify (\d{1,3})\/(\d{1,3})$/.exec(type) ?? [];
  if (piece === undefined || piece !== count) return { kind: 'other' };
  return joined(ring, entry, Number(count));
}

function joined(ring: Pick<Ring, 'read'>, last: RingEntry, count: number): RingNotification | undefined {
  let payload = '';
  for (let piece = 1; piece < count; piece += 1) {
    const entry = ring.read(last.generation - count + piece);
    if (!entry) return undefined;
    // An event of another publisher under such a type has no other pieces.
    if (entry.channel !== last.channel || entry.type !== `${WHOLE} ${piece}/${count}`)
      return { kind: 'other' };
    payload += entry.payload ?? '';
  }
  return { kind: 'notification', channel: last.channel, payload: payload + (last.payload ?? '') };
}
