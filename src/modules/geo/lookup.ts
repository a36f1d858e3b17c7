import { addressBytes, type ComplexValue, type Network } from '../../config/index.ts';

/**
 * The values of all addresses. The value of an address is that of the last start at or before it; the first start is
 * the lowest address.
 */
export interface Intervals<T extends number | string> {
  /** Ascending. */
  readonly starts: readonly T[];
  /** For each start the index of its value; -1 for no value. */
  readonly values: readonly number[];
}

/** One `geo` block. */
export interface GeoConfig {
  /** In lower case. */
  readonly variable: string;
  /** The source of the address; absent: the client. */
  readonly address?: ComplexValue;
  /** True: evaluated each time it is read; false: once per request. */
  readonly isVolatile: boolean;
  /** Trusted proxies, whose `X-Forwarded-For` is used. */
  readonly proxies: readonly Network[];
  readonly proxyRecursive: boolean;
  /** IPv4 addresses as numbers. */
  readonly v4: Intervals<number>;
  /** IPv6 addresses as 32 hexadecimal digits. */
  readonly v6: Intervals<string>;
  /** The distinct values of all entries. */
  readonly values: readonly string[];
}

/** All `geo` blocks. */
export interface GeosConfig {
  readonly geos?: readonly GeoConfig[];
}

const DOT = 46;
const ZERO = 48;

/**
 * Returns an IPv4 address as a number; `undefined` if the text is not one (ngx_inet_addr). Every request that uses a
 * `geo` variable calls it, and a regular expression would take five times as long.
 */
export function ipv4Number(address: string): number | undefined {
  let number = 0;
  let byte = -1;
  let dots = 0;
  for (let at = 0; at < address.length; at++) {
    const code = address.charCodeAt(at);
    if (code === DOT && byte >= 0) {
      number = number * 256 + byte;
      byte = -1;
      dots++;
    } else if (code < ZERO || code > ZERO + 9) return undefined;
    else byte = Math.max(byte, 0) * 10 + code - ZERO;
    if (byte > 255) return undefined;
  }
  return dots === 3 && byte >= 0 ? number * 256 + byte : undefined;
}

/** The address that nginx uses for clients of Unix sockets and variables without an address. */
const NO_ADDRESS = 0xffff_ffff;

/** Returns the index of the value of an address; -1 if it has no value. */
export function lookUp({ v4, v6 }: Pick<GeoConfig, 'v4' | 'v6'>, address: string): number {
  const number = ipv4Number(address);
  if (number !== undefined) return valueAt(v4, number);
  const bytes = address.includes(':') ? addressBytes(address) : undefined;
  if (bytes?.length === 16) return valueAt(v6, Buffer.from(bytes).toString('hex'));
  return valueAt(v4, bytes ? Buffer.from(bytes).readUInt32BE() : NO_ADDRESS);
}

/** Returns the value of the last start at or before the key. */
function valueAt<T extends number | string>({ starts, values }: Intervals<T>, key: T): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] as T) <= key) low = middle;
    else high = middle - 1;
  }
  return values[low] as number;
}
