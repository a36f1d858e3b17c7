import { isIPv4, SocketAddress } from 'node:net';

/** The bytes of an IPv4 or IPv6 address, in the order of the network. */
export function bytesOfAddress(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  // The last 32 bits may stand there as an IPv4 address.
  const [, before, last] = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? [];
  const text = last === undefined ? address : `${before}${groupsOf(bytesOfAddress(last)).join(':')}`;
  const [left = '', right = ''] = text.split('::');
  const [head, tail] = [left, right].map((part) => part.split(':').filter(Boolean)) as [string[], string[]];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  const bytes = Buffer.alloc(16);
  for (const [at, group] of [...head, ...zeros, ...tail].entries())
    bytes.writeUInt16BE(parseInt(group, 16), 2 * at);
  return bytes;
}

/** The address of 4 or 16 bytes; IPv6 is compressed (RFC 5952). */
export function addressOfBytes(bytes: Buffer): string | undefined {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16) return undefined;
  return new SocketAddress({ family: 'ipv6', address: groupsOf(bytes).join(':') }).address;
}

function groupsOf(bytes: Buffer): string[] {
  return Array.from({ length: bytes.length / 2 }, (_, at) => bytes.readUInt16BE(2 * at).toString(16));
}
