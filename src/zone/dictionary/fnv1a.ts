const OFFSET = 0x811c_9dc5;
const PRIME = 0x0100_0193;

/** FNV-1a (32 bits, unsigned) of the first `length` bytes. A secret `seed` keeps others from choosing what collides. */
export function fnv1a(bytes: Uint8Array, length: number = bytes.length, seed: number = OFFSET): number {
  let hash = seed;
  for (let i = 0; i < length; i++) hash = Math.imul(hash ^ (bytes[i] as number), PRIME);
  return hash >>> 0;
}
