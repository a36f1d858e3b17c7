import type { Parameters } from './statement.ts';

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
export interface Writing {
  readonly parameters: Parameters;
  readonly source?: RowSource | undefined;
  aliases: number;
}

/** A whole row as the argument of a function. */
export function rowOf(relation: string, { source }: Writing): string {
  const type = relation === ROWS ? source?.rowType : undefined;
  return type === undefined ? `${relation}.*` : `(${relation})::${type}`;
}

/** How the rows of a node are wanted. */
export interface Wanted {
  /** Alias of its rows. */
  readonly relation: string;
  /** What stands behind `from`; the node's own table without it. */
  readonly source?: string;
  /** Conditions that tie it to the rows around it. */
  readonly ties?: readonly string[];
  /** Outputs are called by their place (`c1`, `c2` …) and not by their name. */
  readonly byPlace?: boolean;
  /** No outputs, but how many rows there are without their range, or whether there is any within it. */
  readonly bare?: 'counted' | 'existing';
}

/** The aliases around one embed. */
export interface Named {
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
export function placeSql(place: number): string {
  return `c${place + 1}`;
}
