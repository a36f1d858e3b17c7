import type { ComplexValue, ReadRegex } from '../../config/index.ts';

/** Strings in lower case, and beside each the index of its value. */
export interface KeyTable {
  readonly keys: readonly string[];
  readonly values: readonly number[];
}

/** One `map` block. */
export interface MapConfig {
  /** In lower case. */
  readonly variable: string;
  readonly source: ComplexValue;
  /** Evaluated whenever it is read; otherwise once per request. */
  readonly isVolatile: boolean;
  /** A trailing dot of the source does not count. */
  readonly hostnames: boolean;
  readonly exact: KeyTable;
  /** `*.example.org` and `.example.org` as `example.org`. */
  readonly suffixes: KeyTable;
  /** `www.example.*` as `www.example`. */
  readonly prefixes: KeyTable;
  /** In file order. */
  readonly regexes: readonly { readonly regex: ReadRegex; readonly value: number }[];
  /** Of what nothing matches; absent: the empty string. */
  readonly fallback?: number;
  /** The distinct values of all entries. */
  readonly values: readonly ComplexValue[];
}

/** All `map` blocks. */
export interface MapsConfig {
  readonly maps?: readonly MapConfig[];
}
