/** `select=*`, or one column of the answer. */
export type SelectItem =
  | { readonly kind: 'all' }
  | { readonly kind: 'column'; readonly column: string; readonly alias?: string; readonly cast?: string };

/** What stands behind the operator of a filter. */
export type Operand =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly values: readonly string[] }
  | { readonly kind: 'truth'; readonly truth: Truth }
  /** `config` is what stood in parentheses; without them it may still be the first word of `query`. */
  | { readonly kind: 'search'; readonly config?: string; readonly query: string };

export const TRUTHS = ['null', 'not_null', 'true', 'false', 'unknown'] as const;
export type Truth = (typeof TRUTHS)[number];

/** `column=[not.]operator.operand`. */
export interface Filter {
  readonly column: string;
  readonly negated: boolean;
  readonly operator: string;
  readonly operand: Operand;
}

/** `column[.asc|.desc][.nullsfirst|.nullslast]`. */
export interface OrderTerm {
  readonly column: string;
  readonly direction?: 'asc' | 'desc';
  readonly nulls?: 'nullsfirst' | 'nullslast';
}

/** A read as the client wrote it: names are not looked up yet. */
export interface ReadRequest {
  readonly select: readonly SelectItem[];
  readonly filters: readonly Filter[];
  readonly order: readonly OrderTerm[];
  readonly limit?: number;
  readonly offset: number;
}
