/** An answer whose body comes in pieces. */
export interface ResponseStream {
  /** False: wait for `drained` before the next write. The bytes of a chunk must stay as they are until then. */
  write(chunk: string | Uint8Array): boolean;
  drained(): Promise<void>;
  end(): void;
}

const PIECE_BYTES = 65_536;

/** Writes a body that is there, as the client takes it, and ends the stream. */
export async function writePieces(
  stream: ResponseStream,
  bytes: Uint8Array,
  isGone: () => boolean,
): Promise<void> {
  for (let at = 0; at < bytes.byteLength && !isGone(); at += PIECE_BYTES) {
    if (!stream.write(bytes.subarray(at, at + PIECE_BYTES))) await stream.drained();
  }
  stream.end();
}
