/** A name as a quoted SQL identifier: the only way a name gets into a statement. Refuses NUL, which would end the text. */
export function quoteIdentifier(name: string): string {
  if (name.includes('\0')) throw new Error('NUL in an identifier');
  return `"${name.replaceAll('"', '""')}"`;
}

/** A table or function with its schema. */
export function qualifiedName({ schema, name }: { readonly schema: string; readonly name: string }): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`;
}

/**
 * Bytes, in one piece or several, go to the server as they are, in the binary form of their type: that of a text, a json or
 * a bytea is itself.
 */
export type BoundValue = string | Buffer | readonly Buffer[] | null;

/** A statement and its bound values; equal texts share one prepared statement. */
export interface Statement {
  readonly text: string;
  readonly values: readonly BoundValue[];
}

/** One statement of a batch. */
export interface Step {
  readonly statement: Statement;
  /** Whoever takes its rows is told of the columns. */
  readonly described?: true;
  /** Gives no row. */
  readonly silent?: true;
  /** Its result is the number of rows that it touched, and no row. */
  readonly tally?: true;
}

/** Collects bound values while a statement's text is put together. */
export class Parameters {
  readonly values: BoundValue[] = [];

  /** The placeholder of a value. */
  bind(value: BoundValue): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/** An array literal: every element quoted, so that none is NULL or a nested array. */
export function arrayLiteral(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}

/** Where the rows of a read come from when it is not their table. */
export interface RowSource {
  /** What stands in front of the whole `select`: `with w as (…) `. */
  readonly prefix?: string;
  /** What stands behind `from`; its alias is `ROWS`. */
  readonly from: string;
  /** The type of its rows, where PostgreSQL would not know it by itself. */
  readonly rowType?: string;
}

/** Alias of the rows of a read. */
export const ROWS = 'r';

/** One statement while it is written: its values, and numbers for its aliases. */
export interface StatementDraft {
  readonly parameters: Parameters;
  readonly source?: RowSource | undefined;
  aliases: number;
}

/** A whole row as the argument of a function. */
export function rowOf(relation: string, { source }: StatementDraft): string {
  const type = relation === ROWS ? source?.rowType : undefined;
  return type === undefined ? `${relation}.*` : `(${relation})::${type}`;
}

/** How the rows of a node are wanted. */
export interface NodeSelect {
  /** Alias of its rows. */
  readonly relation: string;
  /** What stands behind `from`; the node's own table without it. */
  readonly source?: string;
  /** Conditions that tie it to the rows around it. */
  readonly ties?: readonly string[];
  /** Outputs are called by their place (`c1`, `c2` …) and not by their name. */
  readonly numbered?: boolean;
  /** No outputs, but how many rows there are without their range, or whether there is any within it. */
  readonly bare?: 'counted' | 'existing';
}

/** The aliases around one embed. */
export interface EmbedAliases {
  /** Of the rows that it belongs to. */
  readonly parent: string;
  /** Of its own rows, inside. */
  readonly rows: string;
  /** Of what it gives to its parent. */
  readonly join: string;
  /** It stands in the `from` of its parent, and not only among the outputs. */
  readonly joined: boolean;
  /** The rows of its parent are grouped. */
  readonly grouped: boolean;
}

/** What an output is called where it goes by its place. */
export function outputAlias(index: number): string {
  return `c${index + 1}`;
}
