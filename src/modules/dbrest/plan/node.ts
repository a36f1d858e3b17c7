import type { Aggregate, JsonStep, Level, OrderTerm, Truth } from '../request/index.ts';
import type { Column, Relationship, RowFunction, Schema, Table, TableName } from '../schema/index.ts';

/** The table that a request is about, the role that asks, and what the location allows. */
export interface ReadTarget {
  readonly schema: string;
  readonly table: string;
  readonly role: string;
  /** Where computed columns and relationships are looked for; the schema of the table when absent. */
  readonly searchPath?: readonly string[];
  /** Most rows of the response and of each embed. */
  readonly maxRows?: number | undefined;
  /** `false`: no aggregate functions. */
  readonly aggregates?: boolean;
}

/** What every step of planning looks at. */
export interface Context extends ReadTarget {
  readonly known: Schema;
}

/** What a request says of one level; `path` leads there from the node in hand. */
export type LevelAt = Level & { readonly path: readonly string[] };

/** A column or computed column, or what lies below it in its JSON. `type` is that of the whole, as `format_type` prints it. */
export interface Value {
  readonly of:
    | { readonly kind: 'column'; readonly column: Column }
    | { readonly kind: 'computed'; readonly call: RowFunction };
  readonly path: readonly JsonStep[];
  readonly type: string;
}

/** A built-in type as SQL writes it, or one that users of the database made. */
export type Cast = string | { readonly schema: string; readonly name: string; readonly isArray: boolean };

/** How an output's value becomes what is shown; casts are to types that are known to exist. */
interface OutputForm {
  readonly name: string;
  readonly cast?: Cast;
  readonly aggregate?: Aggregate;
  readonly aggregateCast?: Cast;
}

/** One column of the response, or all of the source's. */
export type Output =
  | { readonly kind: 'all' }
  | (OutputForm & { readonly kind: 'value'; readonly value: Value; readonly through?: TableName })
  /** The number of rows; in a spread embed, something that is there in each of its rows. */
  | (OutputForm & { readonly kind: 'rows' })
  /** The whole of an embed as JSON. */
  | (OutputForm & { readonly kind: 'embed'; readonly embed: Embed })
  /** One output of a spread embed, by its place there. */
  | (OutputForm & { readonly kind: 'spread'; readonly embed: Embed; readonly index: number });

/** A filter whose field, operator and form are known to exist; only its operands are the client's, and they get bound. */
export type Condition =
  | { readonly kind: 'and' | 'or'; readonly negated: boolean; readonly terms: readonly Condition[] }
  /** There is no row in an embed. */
  | { readonly kind: 'none'; readonly negated: boolean; readonly embed: Embed }
  | ({ readonly value: Value; readonly negated: boolean } & Test);

export type Test =
  | {
      readonly kind: 'binary';
      readonly operator: string;
      readonly operand: string;
      readonly quantifier?: 'any' | 'all';
      /** The function that reads the operand. */
      readonly read?: TableName;
    }
  | { readonly kind: 'list'; readonly values: readonly string[]; readonly read?: TableName }
  | { readonly kind: 'truth'; readonly truth: Truth }
  | {
      readonly kind: 'search';
      readonly operator: string;
      readonly config?: string;
      readonly query: string;
      /** The value is searched as it is; any other has to become a tsvector first. */
      readonly isVector: boolean;
    };

export type Sort = Pick<OrderTerm, 'direction' | 'nulls'> &
  (
    | { readonly kind: 'value'; readonly value: Value }
    /** An output of these rows themselves, by its place. */
    | { readonly kind: 'output'; readonly index: number }
    /** An output of an embed, by its place there. */
    | { readonly kind: 'related'; readonly embed: Embed; readonly index: number }
  );

/** Rows of one table, view or function, with what is embedded in them. */
export interface ReadNode {
  readonly table: Table;
  readonly outputs: readonly Output[];
  readonly embeds: readonly Embed[];
  readonly conditions: readonly Condition[];
  readonly sorts: readonly Sort[];
  readonly limit?: number;
  readonly offset: number;
  /** Some output is an aggregate: all others are grouped by. */
  readonly grouped: boolean;
}

/** A read whose every name was found in the schema. */
export type ReadPlan = ReadNode;

/** The rows that belong to each row of another node. */
export interface Embed {
  readonly node: ReadNode;
  readonly by: Relationship | RowFunction;
  /** At most one row; otherwise an array. */
  readonly single: boolean;
  readonly spread: boolean;
  /** Rows without any of it are left out. */
  readonly inner: boolean;
  /** A condition or the order of the rows that it belongs to looks at it. */
  readonly used: boolean;
  /** How often conditions ask whether it has a row. */
  readonly tests: number;
  /** How many of its outputs are shown; those behind are for the order only. */
  readonly shown: number;
}

/**
 * Whether a read runs no function that users of the database made, nor one that could leave something in the session: who
 * comes next needs not be protected from it.
 */
export function isInert({ table, outputs, embeds, conditions, sorts }: ReadNode): boolean {
  return (
    table.isInert === true &&
    outputs.every(isInertOutput) &&
    conditions.every(isInertCondition) &&
    sorts.every(isInertSort) &&
    embeds.every(({ by, node }) => isInertWay(by) && isInert(node))
  );
}

function isInertWay(by: Embed['by']): boolean {
  return 'target' in by && (by.junction === undefined || by.junction.table.isInert === true);
}

function isInertOutput(output: Output): boolean {
  if (output.kind === 'all') return true;
  if (typeof output.cast === 'object' || typeof output.aggregateCast === 'object') return false;
  return output.kind !== 'value' || (output.through === undefined && isColumn(output.value));
}

function isInertCondition(condition: Condition): boolean {
  if ('terms' in condition) return condition.terms.every(isInertCondition);
  if ('embed' in condition) return true;
  return isColumn(condition.value) && !('read' in condition && condition.read !== undefined);
}

function isInertSort(sort: Sort): boolean {
  return sort.kind !== 'value' || isColumn(sort.value);
}

function isColumn({ of }: Value): boolean {
  return of.kind === 'column';
}
