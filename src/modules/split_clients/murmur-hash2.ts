const MULTIPLIER = 0x5bd1_e995;

/** MurmurHash2 of a text's UTF-8 bytes, seeded with their number, as nginx has it (ngx_murmur_hash2): 32 bits, unsigned. */
export function murmurHash2(text: string): number {
  const bytes = Buffer.from(text);
  const wholeBytes = bytes.length & ~3;
  let hash = bytes.length;
  for (let at = 0; at < wholeBytes; at += 4) {
    let word = Math.imul(bytes.readInt32LE(at), MULTIPLIER);
    word = Math.imul(word ^ (word >>> 24), MULTIPLIER);
    hash = Math.imul(hash, MULTIPLIER) ^ word;
  }
  if (wholeBytes < bytes.length) {
    hash = Math.imul(hash ^ bytes.readUIntLE(wholeBytes, bytes.length - wholeBytes), MULTIPLIER);
  }
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER);
  return (hash ^ (hash >>> 15)) >>> 0;
}
