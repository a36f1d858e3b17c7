import type { ComplexValue } from '../../config/index.ts';

/** A share of the clients. */
export interface Part {
  /** The hash of a client of this part is below it; absent: all that are left. */
  readonly below?: number;
  readonly value: string;
}

/** One `split_clients` block. */
export interface SplitConfig {
  /** In lower case. */
  readonly variable: string;
  readonly key: ComplexValue;
  /** In file order. */
  readonly parts: readonly Part[];
}

/** All `split_clients` blocks. */
export interface SplitsConfig {
  readonly splits?: readonly SplitConfig[];
}
