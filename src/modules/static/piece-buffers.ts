/** Bytes of a file that are read at once. */
export const PIECE_BYTES = 65_536;

/** Buffers that are kept for the next large file; beyond them they are left to the garbage collector. */
const KEPT = 32;

/** Buffers for pieces of files: to make one costs more than to read into it. */
export class PieceBuffers {
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES);
  }

  /** Nobody may look at the buffer any more. */
  give(buffer: Buffer): void {
    if (this.#free.length < KEPT) this.#free.push(buffer);
  }
}
