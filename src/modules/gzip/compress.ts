import { constants, createGzip, gzipSync } from 'node:zlib';
import { EngineTransform } from '../../http/index.ts';
import type { BodyTransform } from '../../http/index.ts';

/** What is known of a body that is to be compressed. */
export interface Compression {
  /** 1 … 9. */
  readonly level: number;
  /** -1: nobody knows; then each piece can be read as soon as it is there. */
  readonly lengthBytes: number;
  /** Hears how many bytes became how many. */
  readonly measure: ((inBytes: number, outBytes: number) => void) | undefined;
}

/** The levels above this take so long that only short bodies are compressed in one go. */
const QUICK_LEVEL = 6;
const SHORT_BYTES = 32_768;
/** Room for the output: enough for one piece in most cases, but every byte of it is taken anew for each answer. */
const LEAST_ROOM_BYTES = 512;
const MOST_ROOM_BYTES = 16_384;

/** Compresses one body. */
export function compressor(compression: Compression): BodyTransform {
  const { level, lengthBytes } = compression;
  const takesLong = level > QUICK_LEVEL && lengthBytes > SHORT_BYTES;
  return takesLong ? new Packing(compression) : new QuickPacking(compression);
}

/** Compresses piece by piece. An engine takes a quarter of a megabyte: there is none before the first piece comes. */
class Packing implements BodyTransform {
  protected readonly compression: Compression;
  #engine: EngineTransform | undefined = undefined;
  #inBytes = 0;
  #outBytes = 0;

  constructor(compression: Compression) {
    this.compression = compression;
  }

  write(piece: Uint8Array): AsyncIterable<Uint8Array> {
    this.#inBytes += piece.byteLength;
    return this.#count((this.#engine ??= this.#open()).write(piece));
  }

  async *end(): AsyncIterable<Uint8Array> {
    yield* this.#count((this.#engine ??= this.#open()).end());
    this.compression.measure?.(this.#inBytes, this.#outBytes);
  }

  close(): void {
    this.#engine?.close();
  }

  #open(): EngineTransform {
    const { level, lengthBytes } = this.compression;
    const engine = createGzip({ level, chunkSize: MOST_ROOM_BYTES });
    if (lengthBytes >= 0) return new EngineTransform(engine);
    return new EngineTransform(engine, (done) => engine.flush(constants.Z_SYNC_FLUSH, done));
  }

  async *#count(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const piece of pieces) {
      this.#outBytes += piece.byteLength;
      yield piece;
    }
  }
}

/** The same for a body that may also be compressed in one go. */
class QuickPacking extends Packing {
  whole(body: Uint8Array): Uint8Array {
    const { level, measure } = this.compression;
    const chunkSize = Math.max(LEAST_ROOM_BYTES, Math.min(body.byteLength, MOST_ROOM_BYTES));
    const packed = gzipSync(body, { level, chunkSize });
    measure?.(body.byteLength, packed.byteLength);
    return packed;
  }
}
