import { EVENT_LIMITS, type Ring, type RingEntry } from '../../../zone/index.ts';

/** What a ring has at a generation, as far as it comes from the database. */
export type RingNotification =
  | { readonly kind: 'notification'; readonly channel: string; readonly payload: string }
  /** The session that listens was lost, and notifications with it. */
  | { readonly kind: 'gap' }
  /** A piece of a payload that ends later, or an event of somebody else. */
  | { readonly kind: 'other' };

/** The type of an entry with a whole payload; pieces of a longer one are `notify 1/3`, `notify 2/3` … */
const WHOLE = 'notify';
const GAP = 'gap';
/** The channel of a gap, which concerns all of them. */
const ALL_CHANNELS = '*';

/** Appends a notification. An entry takes 512 bytes of a payload, so that a longer one (up to 8,000) takes several. */
export function publishNotification(ring: Ring, channel: string, payload: string): boolean {
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
export function publishGap(ring: Ring): boolean {
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
 * Reads what a ring has at a generation; a payload in pieces at its last one. `undefined`: overwritten, wholly or in part, or not
 * complete yet.
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
    // An event that somebody else has published under such a type has no other pieces.
    if (entry.channel !== last.channel || entry.type !== `${WHOLE} ${piece}/${count}`)
      return { kind: 'other' };
    payload += entry.payload ?? '';
  }
  return { kind: 'notification', channel: last.channel, payload: payload + (last.payload ?? '') };
}
