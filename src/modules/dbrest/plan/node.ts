import type { RowLimits } from '../directives/index.ts';
import type { Aggregate, JsonStep, Level, OrderTerm, Truth } from '../request/index.ts';
import type { Column, Relationship, RowFunction, Schema, Table, TableName } from '../schema/index.ts';

/** The table and role of a request, and the limits of the location. */
export interface ReadTarget {
  readonly schema: string;
  readonly table: string;
  readonly role: string;
  /** Schemas that are searched for computed columns and relationships; only the table's schema if absent. */
  readonly searchPath?: readonly string[];
  /** Most rows of the response, and of each embed. */
  readonly maxRows?: RowLimits | undefined;
  /** False if aggregate functions are disabled. */
  readonly aggregates?: boolean;
  /** `dbrest_row_version`. */
  readonly rowVersion?: string | undefined;
}

/** The input of every planning step. */
export interface Context extends ReadTarget {
  readonly known: Schema;
  /** Collects the targets that a request names instead of the aliases of embeds. `refused`: such names are faults. */
  readonly legacyTargets?: Map<string, string> | 'refused';
  /** The rows of the node come from a function or a write instead of its table. */
  readonly isDerived?: boolean;
}

/** A level of a request; `path` is relative to the current node. */
export type LevelAt = Level & { readonly path: readonly string[] };

/** A column, a computed column, or a path into its JSON. `type` is that of the result, as printed by `format_type`. */
export interface Value {
  readonly of:
    | { readonly kind: 'column'; readonly column: Column }
    | { readonly kind: 'computed'; readonly call: RowFunction };
  readonly path: readonly JsonStep[];
  readonly type: string;
}

/** A built-in type in SQL, or a user-defined type. */
export type Cast = string | { readonly schema: string; readonly name: string; readonly isArray: boolean };

/** The name, casts and aggregate of an output. Cast types are known to exist. */
interface OutputForm {
  readonly name: string;
  readonly cast?: Cast;
  readonly aggregate?: Aggregate;
  readonly aggregateCast?: Cast;
}

/** An aggregate of the rows of a group; without a value their number. */
export interface Aggregation {
  readonly aggregate: Aggregate;
  readonly value?: Value;
  readonly cast?: Cast;
}

/** One output column, or all columns of the source. */
export type Output =
  | { readonly kind: 'all' }
  | (OutputForm & { readonly kind: 'value'; readonly value: Value; readonly through?: TableName })
  /** The number of rows; in a spread embed a value that is never null. */
  | (OutputForm & { readonly kind: 'rows' })
  /** An embed as JSON. */
  | (OutputForm & { readonly kind: 'embed'; readonly embed: Embed })
  /** One output of a spread embed or, to be ordered by, of any to-one embed, by its index. */
  | (OutputForm & { readonly kind: 'spread'; readonly embed: Embed; readonly index: number })
  /** An aggregate of the rows of a to-many embed, to be ordered by. */
  | (OutputForm & { readonly kind: 'aggregation'; readonly embed: Embed; readonly aggregation: Aggregation });

/** A planned filter of rows or of groups. Only its operands come from the client; they become bound parameters. */
export type ConditionOn<V> =
  | { readonly kind: 'and' | 'or'; readonly negated: boolean; readonly terms: readonly ConditionOn<V>[] }
  /** True if the embed has no row. */
  | { readonly kind: 'none'; readonly negated: boolean; readonly embed: Embed }
  | ({ readonly value: V; readonly negated: boolean } & Test);
export type Condition = ConditionOn<Value>;
export type GroupCondition = ConditionOn<Aggregation>;

export type Test =
  | {
      readonly kind: 'binary';
      readonly operator: string;
      readonly operand: string;
      readonly quantifier?: 'any' | 'all';
      /** The function that converts the operand. */
      readonly read?: TableName;
    }
  | { readonly kind: 'list'; readonly values: readonly string[]; readonly read?: TableName }
  | { readonly kind: 'truth'; readonly truth: Truth }
  | {
      readonly kind: 'search';
      readonly operator: string;
      readonly config?: string;
      readonly query: string;
      /** The value is a tsvector; other values are converted first. */
      readonly isVector: boolean;
    };

export type Sort = Pick<OrderTerm, 'direction' | 'nulls'> &
  (
    | { readonly kind: 'value'; readonly value: Value }
    /** An output of the same node, by its index. */
    | { readonly kind: 'output'; readonly index: number }
    /** An output of an embed, by its index. */
    | { readonly kind: 'related'; readonly embed: Embed; readonly index: number }
    /** An aggregate of the rows of each group or, with an embed, of the rows of a to-many embed. */
    | { readonly kind: 'aggregation'; readonly aggregation: Aggregation; readonly embed?: Embed }
  );

/** A read of one table, view or function, with its embeds. */
export interface ReadNode {
  readonly table: Table;
  readonly outputs: readonly Output[];
  readonly embeds: readonly Embed[];
  readonly conditions: readonly Condition[];
  readonly sorts: readonly Sort[];
  readonly limit?: number;
  readonly offset: number;
  /** The rows are grouped by all outputs that are not aggregates. */
  readonly grouped: boolean;
  /** The filters of the groups. */
  readonly having: readonly GroupCondition[];
  /** Number of leading sorts that make rows distinct: of rows that are equal in them the first is kept. 0: all are. */
  readonly distinct: number;
}

/** The root node of a read. */
export type ReadPlan = ReadNode;

/** The related rows of each row of another node. */
export interface Embed {
  readonly node: ReadNode;
  readonly by: Relationship | RowFunction;
  /** To-one: at most one row instead of an array. */
  readonly single: boolean;
  readonly spread: boolean;
  /** Parent rows without related rows are omitted. */
  readonly inner: boolean;
  /** A condition or the order of the parent refers to it. */
  readonly used: boolean;
  /** How many conditions test whether it has rows. */
  readonly tests: number;
  /** How many of its outputs are shown; the others serve an order of the parent. */
  readonly shown: number;
}

/**
 * Returns whether a read runs no user-defined function and nothing that could change the session, so that the session
 * needs no reset after it.
 */
export function isInert({ table, outputs, embeds, conditions, having, sorts }: ReadNode): boolean {
  return (
    table.isInert === true &&
    outputs.every(isInertOutput) &&
    conditions.every((condition) => isInertCondition(condition, isColumn)) &&
    having.every((condition) => isInertCondition(condition, isInertAggregation)) &&
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
  if (output.kind === 'aggregation') return isInertAggregation(output.aggregation);
  return output.kind !== 'value' || (output.through === undefined && isColumn(output.value));
}

function isInertCondition<V>(condition: ConditionOn<V>, isInertValue: (value: V) => boolean): boolean {
  if ('terms' in condition) return condition.terms.every((term) => isInertCondition(term, isInertValue));
  if ('embed' in condition) return true;
  return isInertValue(condition.value) && !('read' in condition && condition.read !== undefined);
}

function isInertSort(sort: Sort): boolean {
  if (sort.kind === 'value') return isColumn(sort.value);
  return sort.kind !== 'aggregation' || isInertAggregation(sort.aggregation);
}

function isInertAggregation({ value, cast }: Aggregation): boolean {
  return typeof cast !== 'object' && (value === undefined || isColumn(value));
}

function isColumn({ of }: Value): boolean {
  return of.kind === 'column';
}

/** The values of a node's own rows that its outputs, filters and orders read. */
export function valuesRead(node: ReadNode): Value[] {
  return [
    ...node.outputs.flatMap((output) => (output.kind === 'value' ? [output.value] : [])),
    ...valuesAsked(node),
  ];
}

/** The values of a node's own rows that its filters and orders read. */
export function valuesAsked({ conditions, having, sorts }: ReadNode): Value[] {
  return [
    ...conditions.flatMap((condition) => valuesOf(condition)),
    ...having.flatMap((condition) => valuesOf(condition)).flatMap(({ value }) => value ?? []),
    ...sorts.flatMap((sort) => {
      if (sort.kind === 'value') return [sort.value];
      return sort.kind === 'aggregation' && !sort.embed ? (sort.aggregation.value ?? []) : [];
    }),
  ];
}

function valuesOf<V>(condition: ConditionOn<V>): V[] {
  if ('terms' in condition) return condition.terms.flatMap((term) => valuesOf(term));
  return 'embed' in condition ? [] : [condition.value];
}

/** The values of embedded rows that aggregates in a node's orders read. */
export function valuesBelow({
  outputs,
  sorts,
}: ReadNode): { readonly embed: Embed; readonly value: Value }[] {
  return [...outputs, ...sorts].flatMap((one) => {
    if (one.kind !== 'aggregation' || !one.embed || !one.aggregation.value) return [];
    return [{ embed: one.embed, value: one.aggregation.value }];
  });
}
