import { addressBytes, type ComplexValue, type Network } from '../../config/index.ts';

/** Which value each address has: it is that of the last start at or before the address. The first start is the lowest address. */
export interface Intervals<T extends number | string> {
  /** Ascending. */
  readonly starts: readonly T[];
  /** Beside each start the index of its value; -1: none. */
  readonly values: readonly number[];
}

/** One `geo` block. */
export interface GeoConfig {
  /** In lower case. */
  readonly variable: string;
  /** Where the address comes from; absent: the client. */
  readonly address?: ComplexValue;
  /** Evaluated whenever it is read; otherwise once per request. */
  readonly isVolatile: boolean;
  /** Peers whose `X-Forwarded-For` is believed. */
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
 * An IPv4 address in four decimal parts as a number; `undefined` when it is none (ngx_inet_addr). By hand: a regular
 * expression takes five times as long, and every request that reads a `geo` variable comes here.
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

/** What nginx takes for every address that is none: a client of a Unix socket, a variable without an address. */
const NO_ADDRESS = 0xffff_ffff;

/** Index of the value of an address; -1: none. */
export function lookUp({ v4, v6 }: Pick<GeoConfig, 'v4' | 'v6'>, address: string): number {
  const number = ipv4Number(address);
  if (number !== undefined) return valueAt(v4, number);
  const bytes = address.includes(':') ? addressBytes(address) : undefined;
  if (bytes?.length === 16) return valueAt(v6, Buffer.from(bytes).toString('hex'));
  return valueAt(v4, bytes ? Buffer.from(bytes).readUInt32BE() : NO_ADDRESS);
}

/** The value of the last start that is not behind the key. */
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
