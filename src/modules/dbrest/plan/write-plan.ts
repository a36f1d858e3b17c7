import type { Column, Table } from '../schema/index.ts';
import type { ReadNode, ReadPlan } from './read-plan.ts';

/** What a write does, every name of it found in the schema. */
export type WritePlan = { readonly table: Table } & (
  | ({ readonly kind: 'insert'; readonly conflict?: Conflict } & Written)
  | ({ readonly kind: 'update'; readonly rows: TouchedRows } & Written)
  | { readonly kind: 'delete'; readonly rows: TouchedRows }
);

/** What is written of a body. */
export interface Written {
  /** A single row, or an array of rows. */
  readonly form: 'object' | 'array';
  readonly columns: readonly WrittenColumn[];
  /** Columns that a row of the body lacks get their default, and not NULL. */
  readonly defaults: boolean;
  /** Of a PUT: what each key column of the body must be. */
  readonly keyValues?: readonly (readonly [column: WrittenColumn, value: string])[];
}

/** A column, and where its values are in the rows of a body. */
export interface WrittenColumn {
  readonly column: Column;
  /** Name of the member. */
  readonly member: string;
  /** Type of the value; of a domain what it is made of, for a domain may refuse the NULL that its default replaces. */
  readonly type: string;
  /** The value is a text that holds it. */
  readonly isText?: boolean;
}

/** What happens to a row that is there already. */
export interface Conflict {
  readonly columns: readonly string[];
  /** Of a partial unique index; as the catalogue has it. */
  readonly predicate?: string;
  readonly action: 'merge' | 'ignore';
}

/** The rows that an update or a delete touches: those that a read with the same query would give. */
export interface TouchedRows {
  readonly node: ReadNode;
  /** What tells one row from another, where not all of the rows that meet the conditions are touched. */
  readonly key?: readonly string[];
}

/** A write and what is shown of its rows. */
export interface PlannedWrite {
  readonly write: WritePlan;
  readonly answer: ReadPlan;
}
