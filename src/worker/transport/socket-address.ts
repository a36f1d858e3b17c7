import type { ListenAddress } from '../../contract/index.ts';
import { chmodSocket } from '../../system/index.ts';

/** Clients that come again have their text at once; more of them than this and it begins anew. See `HttpDates` on why it is a map. */
const MOST_KNOWN = 1024;
const known = new Map<number, string>();

/**
 * An address as nginx prints it, from its 4 or 16 bytes: IPv6 shortened, an IPv4 client of an IPv6 socket as IPv4, `unix:`
 * for a Unix socket, which has none.
 */
export function addressText(address: ArrayBuffer): string {
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

/** The URL parser has the shortening of RFC 5952. */
function ipv6Text(bytes: Uint8Array): string {
  const digits = Buffer.from(bytes).toString('hex');
  const groups = digits.match(/.{4}/g) ?? [];
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** Everybody may connect, as to nginx's. */
const MODE = 0o666;

/** To be called when an address is listened on: the file of a Unix socket has the rights that nginx gives it. */
export function admitEverybody(address: ListenAddress): void {
  if (address.kind === 'unix') chmodSocket(address.path, MODE);
}
