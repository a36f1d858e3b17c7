import { HEADER_BYTES, MAX_ZONE_BYTES, type Memory } from '../header.ts';

/*
 * The ring in shared memory. `…_WORD` and `…_DOUBLE` are indexes into the Int32 and the Float64 view, the other offsets
 * are in bytes.
 *
 *   header   8 u32 capacity   12 u32 stride   24 i32 wake counter   28 i32 sequence (odd: being written)
 *            32 f64 next generation   40 f64 oldest   48 f64 dropped   56 f64 last publish (ms)
 *            80 f64 position   88 f64 first generation that the stream has not got (0: not shared)
 *            96 f64 number of the stream
 *   entry    0 i32 sequence (odd: being written)   4 u32 checksum   8 f64 generation   16 f64 created (ms)
 *            24 u16 channel length   26 u16 type length   28 u32 payload length   32 f64 position
 *            40 channel   104 type   168 payload   680 f64 counter   688 f64 sequence of the origin   696 u32 origin
 *
 * Several gateways may share a ring by a stream in a store. Its entries have a counter, their place in it. The position of a
 * ring is the counter up to which everything in the stream is in the ring, too.
 */

export const RING_MAGIC = 0x6777_7231;
export const RING_VERSION = 2;
/** Eleven cache lines, so that two slots never share a line. */
export const STRIDE_BYTES = 704;
export const STRIDE_WORDS = STRIDE_BYTES / 4;

export const CAPACITY_WORD = 2;
export const STRIDE_WORD = 3;
export const WAKE_WORD = 6;
export const SEQUENCE_WORD = 7;
export const NEXT_DOUBLE = 4;
export const OLDEST_DOUBLE = 5;
export const DROPPED_DOUBLE = 6;
export const LAST_PUBLISH_DOUBLE = 7;
export const POSITION_DOUBLE = 10;
export const SHARED_FROM_DOUBLE = 11;
export const STREAM_DOUBLE = 12;

const CHECKSUM = 4;
export const GENERATION = 8;
export const CREATED = 16;
const CHANNEL_LENGTH = 24;
const TYPE_LENGTH = 26;
const PAYLOAD_LENGTH = 28;
export const POSITION = 32;
const CHANNEL = 40;
const TYPE = 104;
const PAYLOAD = 168;
export const COUNTER = 680;
export const ORIGIN_SEQUENCE = 688;
export const ORIGIN = 696;

/** The payload length of an event without a payload; an empty payload has length 0. */
const NO_PAYLOAD = 0xffff_ffff;

/** The longest texts of an event, in bytes of UTF-8. */
export const EVENT_LIMITS = { channelBytes: 64, typeBytes: 64, payloadBytes: 512 } as const;

/** Returns the size in bytes of a ring with `capacity` entries. */
export function ringBytes(capacity: number): number {
  return HEADER_BYTES + capacity * STRIDE_BYTES;
}

/** Entries of the largest ring that a zone can hold. */
export const MAX_RING_ENTRIES = Math.floor((MAX_ZONE_BYTES - HEADER_BYTES) / STRIDE_BYTES);

/** Returns the offset in bytes of the slot of a generation. Generations count from 1. */
export function slotOffset(generation: number, capacity: number): number {
  return HEADER_BYTES + ((generation - 1) % capacity) * STRIDE_BYTES;
}

/** An event to publish. The texts must fit `EVENT_LIMITS`; channel and type must not be empty. */
export interface RingEvent {
  readonly channel: string;
  readonly type: string;
  /** `null` or absent: no payload, which differs from an empty one. */
  readonly payload?: string | null | undefined;
}

/** An event that another process has published, from the stream of a store. */
export interface ReceivedEvent extends RingEvent {
  /** When it was published, in milliseconds since the epoch. */
  readonly timestampMs: number;
  /** Its counter in the stream, from 1. */
  readonly counter: number;
  /** The number of its publisher, from 1. */
  readonly origin: number;
  /** Its number among the events of its publisher. */
  readonly sequence: number;
}

/** A published event. */
export interface RingEntry {
  readonly generation: number;
  readonly channel: string;
  readonly type: string;
  readonly payload: string | null;
  /** When its publisher published it, in milliseconds since the epoch. */
  readonly timestampMs: number;
  /**
   * Everything that the stream has up to this counter is in the ring before this entry, or is this entry. For an event
   * of this process, it is the position of the ring at the time of publishing; for a received event, its counter.
   */
  readonly position: number;
  /** Its counter in the stream; 0: it is not (yet) in the stream. */
  readonly counter: number;
  /** Its number among the events of its publisher; the generation for events of this process. */
  readonly sequence: number;
  /** The number of its publisher; 0: this process. */
  readonly origin: number;
}

/**
 * Writes an event's texts at the start of `image` and returns the number of bytes used. Throws a RangeError if a text
 * exceeds its limit.
 */
export function encodeEvent(image: Memory, { channel, type, payload }: RingEvent): number {
  const channelLength = encodeText(image, channel, { at: CHANNEL, limit: EVENT_LIMITS.channelBytes });
  const typeLength = encodeText(image, type, { at: TYPE, limit: EVENT_LIMITS.typeBytes });
  if (channelLength === 0 || typeLength === 0) throw new RangeError('an event needs a channel and a type');
  image.u16[CHANNEL_LENGTH >> 1] = channelLength;
  image.u16[TYPE_LENGTH >> 1] = typeLength;
  if (payload === undefined || payload === null) {
    image.u32[PAYLOAD_LENGTH >> 2] = NO_PAYLOAD;
    return PAYLOAD;
  }
  const payloadLength = encodeText(image, payload, { at: PAYLOAD, limit: EVENT_LIMITS.payloadBytes });
  image.u32[PAYLOAD_LENGTH >> 2] = payloadLength;
  return PAYLOAD + payloadLength;
}

function encodeText(image: Memory, text: string, { at, limit }: { at: number; limit: number }): number {
  // A UTF-16 unit takes at most three bytes, so short texts need no counting.
  if (text.length * 3 > limit && Buffer.byteLength(text) > limit) {
    throw new RangeError(`a text of an event exceeds ${limit} bytes`);
  }
  return image.bytes.write(text, at, limit, 'utf8');
}

/** Sets generation and time of the event in `image`. The checksum covers the generation and the texts. */
export function stampEntry(image: Memory, generation: number, createdMs: number): void {
  image.f64[GENERATION >> 3] = generation;
  image.f64[CREATED >> 3] = createdMs;
  image.u32[CHECKSUM >> 2] = checksum(image, 0);
}

/** Returns whether the copied entry at byte `at` is complete. */
export function isWhole(memory: Memory, at: number): boolean {
  return memory.u32[(at + CHECKSUM) >> 2] === checksum(memory, at);
}

/** Returns the generation of the entry at byte `at`; 0 for an empty slot. */
export function generationAt(memory: Memory, at: number): number {
  return memory.f64[(at + GENERATION) >> 3] as number;
}

/** Decodes the entry at byte `at` of private memory. */
export function decodeEntry(memory: Memory, at: number): RingEntry {
  const payloadLength = memory.u32[(at + PAYLOAD_LENGTH) >> 2] as number;
  const generation = generationAt(memory, at);
  const origin = memory.u32[(at + ORIGIN) >> 2] as number;
  return {
    generation,
    channel: textAt(memory, at + CHANNEL, memory.u16[(at + CHANNEL_LENGTH) >> 1] as number),
    type: textAt(memory, at + TYPE, memory.u16[(at + TYPE_LENGTH) >> 1] as number),
    payload: payloadLength === NO_PAYLOAD ? null : textAt(memory, at + PAYLOAD, payloadLength),
    timestampMs: memory.f64[(at + CREATED) >> 3] as number,
    position: memory.f64[(at + POSITION) >> 3] as number,
    counter: memory.f64[(at + COUNTER) >> 3] as number,
    sequence: origin === 0 ? generation : (memory.f64[(at + ORIGIN_SEQUENCE) >> 3] as number),
    origin,
  };
}

function textAt(memory: Memory, start: number, length: number): string {
  return memory.bytes.toString('utf8', start, start + length);
}

/** Returns whether the entry at byte `at` has this channel and type; `undefined` matches any. */
export function matches(memory: Memory, at: number, { channel, type }: EntryFilter): boolean {
  return (
    (channel === undefined ||
      hasText(
        memory,
        { at: at + CHANNEL, length: memory.u16[(at + CHANNEL_LENGTH) >> 1] as number },
        channel,
      )) &&
    (type === undefined ||
      hasText(memory, { at: at + TYPE, length: memory.u16[(at + TYPE_LENGTH) >> 1] as number }, type))
  );
}

/** The texts that an entry must have, in UTF-8. */
export interface EntryFilter {
  readonly channel?: Uint8Array | undefined;
  readonly type?: Uint8Array | undefined;
}

function hasText(
  memory: Memory,
  { at, length }: { at: number; length: number },
  wanted: Uint8Array,
): boolean {
  if (length !== wanted.length) return false;
  for (let i = 0; i < length; i++) if (memory.bytes[at + i] !== wanted[i]) return false;
  return true;
}

const FNV_OFFSET = 0x811c_9dc5;
const FNV_PRIME = 0x0100_0193;

/**
 * Returns the FNV-1a hash (32 bits) of generation, lengths and texts. In a torn copy the lengths may have any value, so
 * they are limited.
 */
function checksum({ bytes, u16, u32 }: Memory, at: number): number {
  const payloadLength = u32[(at + PAYLOAD_LENGTH) >> 2] as number;
  const channelEnd =
    at + CHANNEL + Math.min(u16[(at + CHANNEL_LENGTH) >> 1] as number, EVENT_LIMITS.channelBytes);
  const typeEnd = at + TYPE + Math.min(u16[(at + TYPE_LENGTH) >> 1] as number, EVENT_LIMITS.typeBytes);
  const payloadEnd =
    at + PAYLOAD + (payloadLength === NO_PAYLOAD ? 0 : Math.min(payloadLength, EVENT_LIMITS.payloadBytes));
  let hash = FNV_OFFSET;
  for (let i = at + GENERATION; i < at + CREATED; i++)
    hash = Math.imul(hash ^ (bytes[i] as number), FNV_PRIME);
  for (let i = at + CHANNEL_LENGTH; i < at + PAYLOAD_LENGTH + 4; i++) {
    hash = Math.imul(hash ^ (bytes[i] as number), FNV_PRIME);
  }
  for (let i = at + CHANNEL; i < channelEnd; i++) hash = Math.imul(hash ^ (bytes[i] as number), FNV_PRIME);
  for (let i = at + TYPE; i < typeEnd; i++) hash = Math.imul(hash ^ (bytes[i] as number), FNV_PRIME);
  for (let i = at + PAYLOAD; i < payloadEnd; i++) hash = Math.imul(hash ^ (bytes[i] as number), FNV_PRIME);
  return hash >>> 0;
}
