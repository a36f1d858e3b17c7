import type { ResponseStream } from './response-stream.ts';

const PIECE_BYTES = 65_536;

/** Sends a body that is there already as fast as the reader takes it. */
export async function sendPieces(
  stream: ResponseStream,
  body: Uint8Array,
  isGone: () => boolean,
): Promise<void> {
  for (let at = 0; at < body.byteLength && !isGone(); at += PIECE_BYTES) {
    if (!stream.write(body.subarray(at, at + PIECE_BYTES))) await stream.drained();
  }
  stream.end();
}
