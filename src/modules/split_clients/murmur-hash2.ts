const MULTIPLIER = 0x5bd1_e995;
// eslint-disable-next-line no-control-regex -- all of ASCII is what it looks for
const ASCII = /^[\0-\x7f]*$/;

/** MurmurHash2 of a text's UTF-8 bytes, seeded with their number, as nginx has it (ngx_murmur_hash2): 32 bits, unsigned. */
export function murmurHash2(text: string): number {
  // One character per byte; a buffer for a short text costs more than hashing it.
  const bytes = ASCII.test(text) ? text : Buffer.from(text).toString('latin1');
  const { length } = bytes;
  let hash = length;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    let word = Math.imul(wordAt(bytes, at), MULTIPLIER);
    word = Math.imul(word ^ (word >>> 24), MULTIPLIER);
    hash = Math.imul(hash, MULTIPLIER) ^ word;
  }
  if (at < length) hash = Math.imul(hash ^ wordAt(bytes, at), MULTIPLIER);
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Four bytes, the first one lowest; behind the end they are 0. */
function wordAt(bytes: string, at: number): number {
  return (
    bytes.charCodeAt(at) |
    (bytes.charCodeAt(at + 1) << 8) |
    (bytes.charCodeAt(at + 2) << 16) |
    (bytes.charCodeAt(at + 3) << 24)
  );
}
