import type { Column, Table } from '../schema/index.ts';
import type { OrderTerm, Truth } from '../request/index.ts';

/** A column of the answer; `cast` is a type name from the fixed table. */
export type Output =
  | { readonly kind: 'all' }
  | { readonly kind: 'column'; readonly column: Column; readonly alias?: string; readonly cast?: string };

/** A filter whose column, operator and form are known to exist; only its operands are the client's, and they get bound. */
export type Condition = { readonly column: Column; readonly negated: boolean } & (
  | { readonly kind: 'binary'; readonly operator: string; readonly value: string }
  | { readonly kind: 'any'; readonly values: readonly string[] }
  | { readonly kind: 'truth'; readonly truth: Truth }
  | { readonly kind: 'search'; readonly operator: string; readonly config?: string; readonly query: string }
);

export interface Sort {
  readonly column: Column;
  readonly direction?: OrderTerm['direction'];
  readonly nulls?: OrderTerm['nulls'];
}

/** A read whose every name was found in the schema. */
export interface ReadPlan {
  readonly table: Table;
  readonly outputs: readonly Output[];
  readonly conditions: readonly Condition[];
  readonly sorts: readonly Sort[];
  readonly limit?: number;
  readonly offset: number;
}
