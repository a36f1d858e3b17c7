import type { ListenAddress } from '../../contract/index.ts';
import { chmodSocket } from '../../system/index.ts';

/**
 * Texts of recent addresses; the map is cleared when it has this many. A plain map is faster here than an LRU cache.
 */
const MOST_KNOWN = 1024;
const known = new Map<number, string>();

/**
 * Returns an address as nginx prints it, from its 4 or 16 bytes: IPv6 shortened, IPv4 clients of an IPv6 socket as
 * IPv4, and `unix:` for a Unix socket, which has no address.
 */
export function printedAddress(address: ArrayBuffer): string {
  const bytes = new Uint8Array(address);
  if (bytes.length === 4) return ipv4Text(bytes, 0);
  if (bytes.length !== 16) return 'unix:';
  const isMapped = bytes.every((byte, index) => index > 11 || byte === (index < 10 ? 0 : 0xff));
  return isMapped ? ipv4Text(bytes, 12) : ipv6Text(bytes);
}

function ipv4Text(bytes: Uint8Array, at: number): string {
  const byte = (index: number): number => bytes[at + index] as number;
  const key = (byte(0) << 24) | (byte(1) << 16) | (byte(2) << 8) | byte(3);
  const before = known.get(key);
  if (before !== undefined) return before;
  const text = bytes.subarray(at).join('.');
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(key, text);
  return text;
}

/** Returns the text of an IPv6 address. The URL parser shortens it as RFC 5952 requires. */
function ipv6Text(bytes: Uint8Array): string {
  const digits = Buffer.from(bytes).toString('hex');
  const groups = digits.match(/.{4}/g) ?? [];
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** As in nginx, every account may connect. */
const MODE = 0o666;

/** Sets the mode of a Unix socket's file as nginx does. Must be called after the socket listens. */
export function admitEverybody(address: ListenAddress): void {
  if (address.kind === 'unix') chmodSocket(address.path, MODE);
}
