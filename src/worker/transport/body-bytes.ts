/** Up to here a body is a list of what came, put together at the end; beyond, one buffer takes it as it comes. */
const LISTED_BYTES = 1_048_576;
/** And so many pieces: chunks of one byte would cost a hundred times their size. */
const LISTED_PIECES = 1_024;
/** Most that is set aside before it comes: a length is easily announced. */
const MOST_ROOM_BYTES = 67_108_864;

/** A body while it is received: a large one is never in memory twice, nor copied in one go. */
export class BodyBytes {
  length = 0;
  private chunks: Buffer[] = [];
  private whole: Buffer | undefined = undefined;
  private expectedBytes: number;

  /** `announcedBytes`: -1 when the client did not say. */
  constructor(announcedBytes: number) {
    this.expectedBytes = Math.min(announcedBytes, MOST_ROOM_BYTES);
  }

  /** No more than so many bytes will be taken. */
  limit(bytes: number): void {
    if (this.expectedBytes < 0) this.expectedBytes = Math.min(bytes, MOST_ROOM_BYTES);
  }

  /** Copies what uWebSockets.js lends; a buffer is ours. */
  add(chunk: ArrayBuffer | Buffer): void {
    if (chunk.byteLength === 0) return;
    const length = this.length + chunk.byteLength;
    const isOurs = Buffer.isBuffer(chunk);
    const piece = isOurs ? chunk : new Uint8Array(chunk);
    if (this.whole || length > LISTED_BYTES || this.chunks.length >= LISTED_PIECES)
      this.room(length).set(piece, this.length);
    else this.chunks.push(isOurs ? chunk : Buffer.from(piece));
    this.length = length;
  }

  /** All that came. */
  take(): Buffer {
    if (this.whole) return this.whole.subarray(0, this.length);
    const [first] = this.chunks;
    return first && this.chunks.length === 1 ? first : Buffer.concat(this.chunks, this.length);
  }

  /** A buffer that holds what came so far, and has room for so many bytes. Pages that nobody wrote to cost nothing. */
  private room(length: number): Buffer {
    if (this.whole && this.whole.length >= length) return this.whole;
    const grown = Buffer.allocUnsafeSlow(
      Math.max(this.expectedBytes, length, this.whole ? 2 * this.length : 0),
    );
    let at = 0;
    for (const piece of this.whole ? [this.whole.subarray(0, this.length)] : this.chunks) {
      at += piece.copy(grown, at);
    }
    this.chunks = [];
    this.whole = grown;
    return grown;
  }
}
