import { CHUNKED, ChunkReader, UNSAID, UPSTREAM_CHUNKS } from '../../../http1/index.ts';
import type { ResponseHead } from './response-head.ts';

/** Takes the body of a response out of what a connection receives. */
export interface BodyReader {
  /** Nothing of the body is missing. */
  readonly complete: boolean;
  /** It breaks its framing: where it ends is unknown. */
  readonly broken: boolean;
  /**
   * The bytes of the body in `bytes` from `from` on go to `give`; gives how far it read. What lies behind the body stays unread.
   */
  read(bytes: Buffer, from: number, give: (piece: Buffer) => void): number;
  /** Header fields behind the body: name, value … */
  readonly trailers: readonly string[] | undefined;
}

/** What reads the body behind a head. */
export function bodyReaderOf({ bodyBytes }: ResponseHead): BodyReader {
  if (bodyBytes === CHUNKED) return new ChunkReader(UPSTREAM_CHUNKS);
  return bodyBytes === UNSAID ? new CloseReader() : new LengthReader(bodyBytes);
}

/** A body of known length. */
export class LengthReader implements BodyReader {
  readonly broken = false;
  readonly trailers = undefined;
  private left: number;

  constructor(bytes: number) {
    this.left = bytes;
  }

  get complete(): boolean {
    return this.left === 0;
  }

  read(bytes: Buffer, from: number, give: (piece: Buffer) => void): number {
    const end = Math.min(bytes.length, from + this.left);
    this.left -= end - from;
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
