import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A network as plain data: an address of 4 or 16 bytes, of which the first `bits` bits count. */
export interface Network {
  readonly bytes: readonly number[];
  readonly bits: number;
}

/**
 * The network that `10.0.0.0/8`, `2001:db8::/32` or a single address denotes, and the bytes as written; `undefined` for
 * other texts (nginx ngx_ptocidr).
 */
export function parseNetwork(text: string): { network: Network; written: readonly number[] } | undefined {
  const [host = '', mask, ...more] = text.split('/');
  const isIpv4 = ipaddr.IPv4.isValidFourPartDecimal(host);
  if (more.length > 0 || (!isIpv4 && !(host.includes(':') && ipaddr.IPv6.isValid(host)))) return undefined;
  const written = ipaddr.parse(host).toByteArray();
  const bits = mask === undefined ? written.length * 8 : /^\d{1,3}$/.test(mask) ? Number(mask) : Infinity;
  if (bits > written.length * 8) return undefined;
  return { network: { bytes: written.map((byte, index) => byte & maskOf(bits, index)), bits }, written };
}

/** The bytes of an IP address; `undefined` for other texts. The IPv4-mapped address of an IPv6 socket gives 4 bytes. */
export function addressBytes(address: string): readonly number[] | undefined {
  return ipaddr.isValid(address) ? ipaddr.process(address).toByteArray() : undefined;
}

/** All bytes of an IP address, 16 of an IPv4-mapped one as well; `undefined` for other texts. */
export function wholeAddressBytes(address: string): readonly number[] | undefined {
  return ipaddr.isValid(address) ? ipaddr.parse(address).toByteArray() : undefined;
}

/** An IP address in its canonical form (`2001:db8::1`, `::ffff:192.0.2.1`); `undefined` for other texts. */
export function canonicalAddress(address: string): string | undefined {
  if (isIPv4(address)) return address;
  if (!isIPv6(address) || address.includes('%')) return undefined;
  const parsed = ipaddr.IPv6.parse(address);
  return parsed.isIPv4MappedAddress() ? `::ffff:${parsed.toIPv4Address().toString()}` : parsed.toString();
}

/** The text of a network: `10.0.0.0/8`. */
export function networkText({ bytes, bits }: Network): string {
  return `${ipaddr.fromByteArray([...bytes]).toString()}/${bits}`;
}

/** Returns whether an address is in a network. An IPv4 address is never in an IPv6 network, nor the reverse. */
export function contains({ bytes, bits }: Network, address: readonly number[]): boolean {
  if (address.length !== bytes.length) return false;
  return bytes.every((byte, index) => byte === ((address[index] as number) & maskOf(bits, index)));
}

/** The mask for one byte of an address. */
function maskOf(bits: number, index: number): number {
  return (0xff00 >> Math.min(8, Math.max(0, bits - index * 8))) & 0xff;
}
