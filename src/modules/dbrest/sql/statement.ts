import { quoteIdentifier } from '../../../postgres/index.ts';
import type { Aggregation } from '../plan/index.ts';

/** The quoted name of a table or function with its schema. */
export function qualifiedName({ schema, name }: { readonly schema: string; readonly name: string }): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`;
}

/** A name for a column that a statement adds to those of a table. No table has a column of this name. */
export function hiddenName(name: string): string {
  return quoteIdentifier(`${name} ${'-'.repeat(50)}`);
}

/** A parameter. Buffers are sent in binary format, which for text, json and bytea is the bytes themselves. */
export type BoundValue = string | Buffer | readonly Buffer[] | null;

/** A statement and its parameters. Statements with equal texts share a prepared statement. */
export interface Statement {
  readonly text: string;
  readonly values: readonly BoundValue[];
}

/** One statement of a batch. */
export interface Step {
  readonly statement: Statement;
  /** The columns are described to the sink. */
  readonly described?: true;
  /** Returns no row. */
  readonly silent?: true;
  /** Its result is the number of affected rows instead of a row. */
  readonly tally?: true;
}

/** Transactions that do not begin and end with their batch. */
export const BEGIN: Step = { statement: { text: 'begin', values: [] }, silent: true };
export const BEGIN_READ_ONLY: Step = { statement: { text: 'begin read only', values: [] }, silent: true };
export const ROLLBACK: Step = { statement: { text: 'rollback', values: [] }, silent: true };

/** Collects the parameters of a statement while its text is built. */
export class Parameters {
  readonly values: BoundValue[] = [];

  /** Adds a value and returns its placeholder. A body that is read twice is sent once. */
  bind(value: BoundValue): string {
    const known = typeof value === 'object' && value !== null ? this.values.indexOf(value) : -1;
    if (known >= 0) return `$${known + 1}`;
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/** An array literal. All elements are quoted, so that none is read as NULL or as a nested array. */
export function arrayLiteral(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}

/** A source of rows other than a table. */
export interface RowSource {
  /** Text before the select: `with w as (…) `. */
  readonly prefix?: string;
  /** The `from` item; its alias is `ROWS`. */
  readonly from: string;
  /** The row type, if PostgreSQL cannot infer it. */
  readonly rowType?: string;
  /** SQL for the version of its one row. */
  readonly version?: string;
}

/** Alias of the rows of a read. */
export const ROWS = 'r';

/** A statement under construction: its parameters, and a counter for aliases. */
export interface StatementDraft {
  readonly parameters: Parameters;
  readonly source?: RowSource | undefined;
  aliases: number;
}

/** A row as the argument of a function. */
export function rowOf(relation: string, { source }: StatementDraft): string {
  const type = relation === ROWS ? source?.rowType : undefined;
  return type === undefined ? `${relation}.*` : `(${relation})::${type}`;
}

/** Options for the select of a node. */
export interface NodeSelect {
  /** Alias of the rows. */
  readonly relation: string;
  /** The `from` item; the table of the node if absent. */
  readonly source?: string;
  /** Join conditions with the parent. */
  readonly ties?: readonly string[];
  /** Outputs are named by number (`c1`, `c2` …). */
  readonly numbered?: boolean;
  /** Makes the select list from the SQL of the outputs. */
  readonly shown?: (outputs: string) => string;
  /** In place of the outputs: an aggregate of the rows without their range. */
  readonly aggregation?: Aggregation;
  /** No outputs: the rows are only counted without their range, or tested for existence. */
  readonly bare?: 'counted' | 'existing';
  /** The rows are grouped by these outputs, so the JSON of embeds has to be comparable. */
  readonly compared?: boolean;
}

/** The aliases of an embed. */
export interface EmbedAliases {
  /** Alias of the parent's rows. */
  readonly parent: string;
  /** Alias of its own rows. */
  readonly rows: string;
  /** Alias of its join in the parent. */
  readonly join: string;
  /** It is joined in the parent's `from` instead of being a subquery. */
  readonly joined: boolean;
  /** The parent is grouped. */
  readonly grouped: boolean;
  /** The row around it is compared with others: its JSON is jsonb, which has an equality operator. */
  readonly compared: boolean;
}

/** The alias of a numbered output. */
export function outputAlias(index: number): string {
  return `c${index + 1}`;
}
