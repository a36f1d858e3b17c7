import type { ComplexValue } from '../../config/index.ts';

/** One directive of the rewrite module; they run in file order. */
export type RewriteStep =
  | { readonly kind: 'return'; readonly code: number; readonly text?: ComplexValue }
  | { readonly kind: 'set'; readonly variable: string; readonly value: ComplexValue };

/** The rewrite directives of one block. */
export interface RewriteConfig {
  readonly steps?: readonly RewriteStep[];
}
