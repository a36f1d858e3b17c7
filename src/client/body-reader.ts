import { CHUNKED, ChunkReader, NO_LENGTH, UPSTREAM_CHUNKS } from '../http1/index.ts';
import type { ResponseHead } from './response-head.ts';

/** Extracts the body of a response from the bytes that a connection receives. */
export interface BodyReader {
  /** The body has been read completely. */
  readonly complete: boolean;
  /** The body violates its framing, so its end is unknown. */
  readonly broken: boolean;
  /**
   * Passes the bytes of the body in `bytes`, starting at `from`, to `give`, and gives the index behind them. Bytes behind the
   * body are not read.
   */
  read(bytes: Buffer, from: number, give: (piece: Buffer) => void): number;
  /** Trailer fields: name, value … */
  readonly trailers: readonly string[] | undefined;
}

/** Gives the reader for the body that belongs to a head. */
export function bodyReaderOf({ bodyBytes }: ResponseHead): BodyReader {
  if (bodyBytes === CHUNKED) return new ChunkReader(UPSTREAM_CHUNKS);
  return bodyBytes === NO_LENGTH ? new CloseReader() : new LengthReader(bodyBytes);
}

/** A body of known length. */
export class LengthReader implements BodyReader {
  readonly broken = false;
  readonly trailers = undefined;
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  get complete(): boolean {
    return this.#left === 0;
  }

  read(bytes: Buffer, from: number, give: (piece: Buffer) => void): number {
    const end = Math.min(bytes.length, from + this.#left);
    this.#left -= end - from;
    if (end > from) give(from === 0 && end === bytes.length ? bytes : bytes.subarray(from, end));
    return end;
  }
}

/** A body that ends with its connection. */
export class CloseReader implements BodyReader {
  readonly broken = false;
  readonly trailers = undefined;
  readonly complete = false;

  read(bytes: Buffer, from: number, give: (piece: Buffer) => void): number {
    if (bytes.length > from) give(from === 0 ? bytes : bytes.subarray(from));
    return bytes.length;
  }
}
