import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A network as plain data: the address in 4 or 16 bytes, of which the first `bits` bits count. */
export interface Network {
  readonly bytes: readonly number[];
  readonly bits: number;
}

/**
 * `10.0.0.0/8`, `2001:db8::/32` or one address, with the bytes as they were written; `undefined` when it is none of these
 * (nginx: ngx_ptocidr).
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

/** An address in bytes; an IPv4 client of an IPv6 socket is an IPv4 client. `undefined` when it is not an IP address. */
export function addressBytes(address: string): readonly number[] | undefined {
  return ipaddr.isValid(address) ? ipaddr.process(address).toByteArray() : undefined;
}

/** An address in its usual form (`2001:db8::1`); `undefined` when it is not an IP address. */
export function addressText(address: string): string | undefined {
  if (isIPv4(address)) return address;
  return isIPv6(address) && !address.includes('%') ? ipaddr.parse(address).toString() : undefined;
}

/** A network as it is written: `10.0.0.0/8`. */
export function networkText({ bytes, bits }: Network): string {
  return `${ipaddr.fromByteArray([...bytes]).toString()}/${bits}`;
}

/** Whether an address lies in a network. IPv4 and IPv6 never meet. */
export function contains({ bytes, bits }: Network, address: readonly number[]): boolean {
  if (address.length !== bytes.length) return false;
  return bytes.every((byte, index) => byte === ((address[index] as number) & maskOf(bits, index)));
}

/** The bits of one byte that count. */
function maskOf(bits: number, index: number): number {
  return (0xff00 >> Math.min(8, Math.max(0, bits - index * 8))) & 0xff;
}
