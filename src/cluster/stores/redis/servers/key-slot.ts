const SLOTS = 16_384;
/** CRC-16 of XMODEM. */
const POLYNOMIAL = 0x1021;

/** The slot of a key in a Redis Cluster, or of its hash tag (redis.io, "Redis cluster specification", hash tags). */
export function keySlot(key: string): number {
  const [, tag = key] = /^[^{]*\{([^}]+)\}/s.exec(key) ?? [];
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1) & 0xffff;
  }
  return crc % SLOTS;
}
