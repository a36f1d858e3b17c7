import { guarded, type StreamOwner } from '../transport.ts';

/**
 * Ends a connection, or sends its last bytes, outside of the parser and of its cork. If a connection were closed inside
 * the parser, uWebSockets.js would continue to read.
 */
export function inNextTurn({ x }: StreamOwner, act: () => void): void {
  const actUnlessLeft = guarded(x, () => {
    if (!x.aborted) act();
  });
  setImmediate(actUnlessLeft);
}

export function asBuffer(chunk: string | Uint8Array): Buffer {
  return typeof chunk === 'string'
    ? Buffer.from(chunk)
    : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}
