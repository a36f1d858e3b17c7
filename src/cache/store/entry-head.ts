import { crc32 } from 'node:zlib';

/*
 * The file of one entry. Little endian, offsets in bytes.
 *
 *   0    preamble   0 "GWC1"   4 u32 length of the description   8 f64 length of the body   16 u32 CRC-32 of the
 *                   description   20 u32 CRC-32 of the body   60 u32 CRC-32 of the 60 bytes before
 *   64   times      0 f64 stored   8 f64 valid until   16 f64 may be stale while it is updated until   24 f64 may be stale
 *                   after errors until (all ms)   60 u32 CRC-32 of the 60 bytes before; rewritten when an entry is renewed
 *   128  description (JSON), then the body
 */

const MAGIC = 0x3143_5747;
const BLOCK_BYTES = 64;
const CRC_AT = 60;
export const TIMES_AT = 64;
export const DESCRIPTION_AT = 128;
const PLAIN = /^[\t\x20-\x7e]*$/;
const LONGEST_DESCRIPTION = 1_048_576;

/** How long an entry may be served; times in milliseconds since the epoch. */
export interface EntryTimes {
  /** When it was stored, or renewed. */
  readonly storedMs: number;
  readonly validMs: number;
  /** Until when it may be served stale: while it is updated, and after errors. */
  readonly updatingMs: number;
  readonly errorMs: number;
}

/** The head of a stored response. */
export interface StoredResponse {
  readonly status: number;
  readonly reason: string;
  /** Name, value, name, value …, as received. */
  readonly headers: readonly string[];
  /** All bytes are printable ASCII or blanks, so that every value may be sent unchanged. */
  readonly isPlain: boolean;
  /** The value of `Content-Length`; -1: there was none. */
  readonly announcedBytes: number;
}

/** The description of an entry, as stored in its file. */
export interface Description {
  /** The whole key, since two keys may have the same digest. */
  readonly key: string;
  /** Identifies the variant of the key; '' if there are no variants. */
  readonly variant: string;
  readonly tags: readonly string[];
  readonly response?: StoredResponse;
  /** The entry has no response of its own: its key has a variant for each set of values of these request headers. */
  readonly varies?: Variants;
}

/** The request headers that responses of a key depend on. */
export interface Variants {
  /** In lower case. */
  readonly names: readonly string[];
  /** Tells these variants from those of an earlier response, which can no longer be found. */
  readonly epoch: string;
}

/** The parts of an entry, as they are read from a file. */
export interface EntryHead extends Description {
  readonly times: EntryTimes;
  readonly bodyAt: number;
  readonly bodyBytes: number;
  readonly bodyCrc: number;
}

/** Returns the times as stored in a file. */
export function encodeTimes({ storedMs, validMs, updatingMs, errorMs }: EntryTimes): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  for (const [index, ms] of [storedMs, validMs, updatingMs, errorMs].entries())
    block.writeDoubleLE(ms, index * 8);
  return sealed(block);
}

/** Returns the description as stored in a file. */
export function encodeDescription(description: Description): Buffer {
  return Buffer.from(JSON.stringify(description));
}

/** Returns the first block of a file, which makes it complete. */
export function encodePreamble(
  description: Buffer,
  { bodyBytes, bodyCrc }: Pick<EntryHead, 'bodyBytes' | 'bodyCrc'>,
): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.writeUInt32LE(MAGIC, 0);
  block.writeUInt32LE(description.length, 4);
  block.writeDoubleLE(bodyBytes, 8);
  block.writeUInt32LE(crc32(description), 16);
  block.writeUInt32LE(bodyCrc, 20);
  return sealed(block);
}

function sealed(block: Buffer): Buffer {
  block.writeUInt32LE(crc32(block.subarray(0, CRC_AT)), CRC_AT);
  return block;
}

function isWhole(block: Buffer): boolean {
  return block.length === BLOCK_BYTES && block.readUInt32LE(CRC_AT) === crc32(block.subarray(0, CRC_AT));
}

/** Returns whether a file begins as an entry does. Other files must not be removed. */
export function hasMagic(start: Buffer): boolean {
  return start.length >= 4 && start.readUInt32LE(0) === MAGIC;
}

/** Returns the length of the head in bytes; 0 if the file is damaged or not an entry. */
export function headBytes(start: Buffer): number {
  const preamble = start.subarray(0, BLOCK_BYTES);
  if (!isWhole(preamble) || preamble.readUInt32LE(0) !== MAGIC) return 0;
  const length = preamble.readUInt32LE(4);
  return length > LONGEST_DESCRIPTION ? 0 : DESCRIPTION_AT + length;
}

/** Reads the head of a file of this size; `undefined`: it is damaged. `start` has at least the bytes of the head. */
export function readHead(start: Buffer, fileBytes: number): EntryHead | undefined {
  const bodyAt = headBytes(start);
  const times = start.subarray(TIMES_AT, TIMES_AT + BLOCK_BYTES);
  const description = start.subarray(DESCRIPTION_AT, bodyAt);
  if (bodyAt === 0 || start.length < bodyAt || !isWhole(times)) return undefined;
  const bodyBytes = start.readDoubleLE(8);
  if (bodyAt + bodyBytes !== fileBytes || crc32(description) !== start.readUInt32LE(16)) return undefined;
  const [storedMs = 0, validMs = 0, updatingMs = 0, errorMs = 0] = [0, 8, 16, 24].map((at) =>
    times.readDoubleLE(at),
  );
  const described = JSON.parse(description.toString('utf8')) as Description;
  const { response } = described;
  return {
    ...described,
    // The text of a file is not trusted where it could split a response.
    ...(response && {
      response: { ...response, isPlain: response.headers.every((text) => PLAIN.test(text)) },
    }),
    times: { storedMs, validMs, updatingMs, errorMs },
    bodyAt,
    bodyBytes,
    bodyCrc: start.readUInt32LE(20),
  };
}
