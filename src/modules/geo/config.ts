import type { ComplexValue, Network } from '../../config/index.ts';

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
