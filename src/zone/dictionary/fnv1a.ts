const OFFSET = 0x811c_9dc5;
const PRIME = 0x0100_0193;

/** FNV-1a (32 bits, unsigned) of the first `length` bytes. */
export function fnv1a(bytes: Uint8Array, length: number = bytes.length): number {
  let hash = OFFSET;
  for (let i = 0; i < length; i++) hash = Math.imul(hash ^ (bytes[i] as number), PRIME);
  return hash >>> 0;
}
