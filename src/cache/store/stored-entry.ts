import { crc32 } from 'node:zlib';
import type { SentFile } from '../../bodies/index.ts';
import { type EntryHead, type EntryTimes, hasMagic, headBytes, readHead, TIMES_AT } from './entry-head.ts';
import { closeFile, readAt, statFile } from './file-calls.ts';

/** Bodies up to this size are read whole, and kept in memory. */
export const SMALL_BODY_BYTES = 262_144;
/** The first read of a file gets the head and, usually, a small body. */
const FIRST_READ_BYTES = 16_384;

/** A stored response. Its body is in memory or in an open file. Each receiver must release it once. */
export class StoredEntry implements SentFile {
  readonly head: EntryHead;
  readonly #body: Buffer | undefined;
  readonly #fd: number;
  #crc = 0;
  #crcAt = 0;
  /** Called when the checksum was compared while the body was sent. */
  #compared: ((isRight: boolean) => void) | undefined = undefined;
  #users = 1;

  constructor(head: EntryHead, body: Buffer | number) {
    this.head = head;
    this.#body = typeof body === 'number' ? undefined : body;
    this.#fd = typeof body === 'number' ? body : -1;
  }

  get sizeBytes(): number {
    return this.head.bodyBytes;
  }

  get isSlow(): boolean {
    return this.#body === undefined;
  }

  /** True if it may be given to several requests. */
  get isInMemory(): boolean {
    return this.#body !== undefined;
  }

  content(): Uint8Array {
    if (!this.#body) throw new Error('a large body is not read whole');
    return this.#body;
  }

  read(bytes: Buffer, from: number): number {
    return this.#body?.copy(bytes, 0, from, from + bytes.length) ?? 0;
  }

  async readLater(bytes: Buffer, from: number): Promise<number> {
    if (this.#body) return this.read(bytes, from);
    const filled = await readAt(this.#fd, bytes, this.head.bodyAt + from);
    if (this.#compared) this.#follow(bytes.subarray(0, filled), from);
    return filled;
  }

  /** Returns the same response, in memory, with other times. */
  renewed(times: EntryTimes): StoredEntry {
    return new StoredEntry({ ...this.head, times }, this.#body ?? this.#fd);
  }

  /** Reads the whole body and compares its checksum. */
  async isIntact(): Promise<boolean> {
    if (this.#body) return crc32(this.#body) === this.head.bodyCrc;
    const { bodyBytes, bodyAt, bodyCrc } = this.head;
    const bytes = Buffer.allocUnsafe(Math.min(bodyBytes, 262_144));
    let crc = 0;
    for (let at = 0; at < bodyBytes; at += bytes.length) {
      const piece = bytes.subarray(0, Math.min(bytes.length, bodyBytes - at));
      if ((await readAt(this.#fd, piece, bodyAt + at)) < piece.length) return false;
      crc = crc32(piece, crc);
    }
    return crc === bodyCrc;
  }

  /** From now on, `readLater` does not deliver the last piece of a body whose checksum is wrong. */
  watch(compared: (isRight: boolean) => void): void {
    this.#compared = compared;
  }

  /** Adds a user, who must release it, too. */
  use(): this {
    this.#users++;
    return this;
  }

  release(): void {
    if (--this.#users === 0 && this.#fd >= 0) closeFile(this.#fd).catch(() => undefined);
  }

  /** The checksum can be compared only if the body is read from start to end. */
  #follow(piece: Buffer, from: number): void {
    if (from !== this.#crcAt) return;
    this.#crc = crc32(piece, this.#crc);
    this.#crcAt += piece.length;
    if (this.#crcAt < this.head.bodyBytes) return;
    const isRight = this.#crc === this.head.bodyCrc;
    this.#compared?.(isRight);
    if (isRight) return;
    throw new Error('the checksum of a stored body is wrong');
  }
}

/** Returns whether an open file is an entry (damaged or not), or empty. */
export async function isEntry(fd: number): Promise<boolean> {
  const start = Buffer.alloc(4);
  const length = await readAt(fd, start, 0);
  return length === 0 || hasMagic(start.subarray(0, length));
}

/** Reads an entry from its open file, which it closes unless the entry needs it. `undefined`: the file is damaged. */
export async function readEntry(fd: number): Promise<StoredEntry | undefined> {
  let isKept = false;
  try {
    const entry = (await readOnce(fd)) ?? (await readOnce(fd));
    isKept = entry !== undefined && !entry.isInMemory;
    return entry;
  } finally {
    if (!isKept) await closeFile(fd);
  }
}

/** The times of an entry may be written at this moment, so that a second try decides. */
async function readOnce(fd: number): Promise<StoredEntry | undefined> {
  const { size } = await statFile(fd);
  let start = Buffer.allocUnsafe(Math.min(size, FIRST_READ_BYTES));
  if (start.length <= TIMES_AT || (await readAt(fd, start, 0)) < start.length) return undefined;
  const wanted = headBytes(start);
  if (wanted === 0 || wanted > size) return undefined;
  const isSmall = size - wanted <= SMALL_BODY_BYTES;
  const needed = isSmall ? size : wanted;
  if (needed > start.length) {
    const rest = Buffer.allocUnsafe(needed - start.length);
    if ((await readAt(fd, rest, start.length)) < rest.length) return undefined;
    start = Buffer.concat([start, rest]);
  }
  const head = readHead(start, size);
  if (!head) return undefined;
  // A copy, so that a long-lived body does not keep a larger buffer in memory.
  return new StoredEntry(head, isSmall ? Buffer.from(start.subarray(head.bodyAt, size)) : fd);
}
