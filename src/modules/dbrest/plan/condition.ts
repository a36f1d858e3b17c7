import { badEmbedOperator, noAggregates, rowVersionsUnknown } from '../fault/index.ts';
import {
  type Aggregated,
  BINARY_OPERATORS,
  boundText,
  type Comparison,
  type Filter,
  type GroupLogic,
  type Logic,
  type Operand,
  type Precondition,
  refuseSearch,
  SEARCH_OPERATORS,
  type WriteRequest,
} from '../request/index.ts';
import type { Schema, Table } from '../schema/index.ts';
import { type EmbedDraft, embedNamed } from './embed.ts';
import type {
  Aggregation,
  Condition,
  Context,
  GroupCondition,
  Output,
  ReadNode,
  Test,
  Value,
} from './node.ts';
import { castType, namesAggregate, planValue } from './value.ts';

/** The table and the embeds that a filter can refer to, and the outputs, to which it cannot refer. */
interface NodeScope {
  readonly table: Table;
  readonly embeds: readonly EmbedDraft[];
  readonly outputs: readonly Output[];
}

/** Operators whose operands are patterns instead of values of the column's type. */
const PATTERNS = new Set(['like', 'ilike', 'match', 'imatch']);

/** Plans a filter or a logic tree. Throws a `DbrestFault` for an unknown field. */
export function planCondition(logic: Logic, scope: NodeScope, context: Context): Condition {
  if (logic.kind !== 'filter') {
    return { ...logic, terms: logic.terms.map((term) => planCondition(term, scope, context)) };
  }
  const embed = logic.path ? undefined : embedNamed(scope.embeds, logic.column);
  const test = embed && emptiness(logic);
  if (embed && test) {
    embed.used = true;
    embed.tests += 1;
    return { kind: 'none', negated: test === 'some', embed };
  }
  if (embed && !scope.table.columns.has(logic.column)) throw badEmbedOperator(logic.column);
  const isOfGroup = context.aggregates !== false && namesAggregate(logic.column, scope.outputs);
  const field = isOfGroup ? ({ ...logic, instead: 'aggregate' } as const) : logic;
  const value = planValue(field, scope.table, context);
  return { value, negated: logic.negated, ...planTest(logic, value, context.known) };
}

/** Plans a filter of groups or a logic tree of such filters. Throws a `DbrestFault` for an unknown field. */
export function planGroupCondition(logic: GroupLogic, table: Table, context: Context): GroupCondition {
  if (logic.kind !== 'filter') {
    return { ...logic, terms: logic.terms.map((term) => planGroupCondition(term, table, context)) };
  }
  const value = planAggregation(logic, table, context);
  return { value, negated: logic.negated, ...planTest(logic, OF_GROUP, context.known) };
}

/** The type of an aggregate is not known, so it has no domain whose conversion would apply. */
const OF_GROUP = { type: '', path: [] } as const;

/** Plans an aggregate. Throws PGRST123 if aggregates are disabled, 42703 for an unknown column, and as `castType`. */
export function planAggregation(
  { aggregate, field, cast }: Aggregated,
  table: Table,
  context: Context,
): Aggregation {
  if (context.aggregates === false) throw noAggregates();
  return {
    aggregate,
    ...(field && { value: planValue(field, table, context) }),
    ...(cast && { cast: castType(cast, context) }),
  };
}

/** Returns whether a filter tests that an embed is empty (`none`) or not (`some`). */
function emptiness({ operand, negated }: Filter): 'none' | 'some' | undefined {
  if (operand.kind !== 'truth') return undefined;
  if (operand.truth === 'null') return negated ? 'some' : 'none';
  if (operand.truth === 'not_null') return negated ? 'none' : 'some';
  return undefined;
}

function planTest(
  { operator, operand, quantifier }: Comparison,
  { type, path }: Pick<Value, 'type' | 'path'>,
  known: Schema,
): Test {
  const reader =
    path.length === 0 && !PATTERNS.has(operator) ? known.representations?.get(type)?.read : undefined;
  const read = reader && { read: reader };
  switch (operand.kind) {
    case 'truth':
      return operand;
    case 'list':
      return { ...operand, ...read };
    case 'search':
      return {
        kind: 'search',
        operator: SEARCH_OPERATORS.get(operator) as string,
        isVector: baseOf(type, known) === 'tsvector',
        ...searchWords(operator, operand, known),
      };
    case 'text':
      return {
        kind: 'binary',
        operator: BINARY_OPERATORS.get(operator) as string,
        operand: boundText(operator, operand.text),
        ...(quantifier && { quantifier }),
        ...read,
      };
  }
}

/** The base type of a domain, through nested domains; any other type is its own base. */
export function baseOf(type: string, { domains }: Schema): string {
  let base = type;
  for (let next = domains?.get(base); next !== undefined; next = domains?.get(base)) base = next;
  return base;
}

/** In `fts.english.cats` the first word is the configuration if the database has one of that name. */
function searchWords(
  operator: string,
  { config, query }: Operand & { kind: 'search' },
  { textSearchConfigs }: Schema,
): { config?: string; query: string } {
  if (config !== undefined) return { config, query };
  const dot = query.indexOf('.');
  const first = query.slice(0, Math.max(dot, 0));
  const words = textSearchConfigs.has(first) ? { config: first, query: query.slice(dot + 1) } : { query };
  refuseSearch(operator, query, words.query);
  return words;
}

/** A condition on the rows of a write. `column`: the column with their versions. */
export type WriteCondition =
  | { readonly kind: 'absent' }
  | { readonly kind: 'present' }
  | { readonly kind: 'match'; readonly versions: readonly string[]; readonly column: string };

/** The column of `dbrest_row_version`, if a table has it. Only plain tables have an `xmin` that writes return. */
export function versionColumn(
  { columns, kind }: Table,
  { rowVersion }: { readonly rowVersion?: string | undefined },
): string | undefined {
  if (rowVersion === undefined) return undefined;
  return columns.has(rowVersion) || (rowVersion === 'xmin' && kind === 'r') ? rowVersion : undefined;
}

/** The condition of a write, if it has one. Throws DBREST102 if the versions of the rows are not known. */
export function writeCondition(
  { head }: WriteRequest,
  table: Table,
  context: { readonly rowVersion?: string | undefined },
): WriteCondition | undefined {
  const precondition: Precondition | undefined = head.precondition;
  if (precondition?.kind !== 'match') return precondition;
  const column = versionColumn(table, context);
  if (column === undefined) throw rowVersionsUnknown(table.name, context.rowVersion);
  return { ...precondition, column };
}

/** The columns that must have one value. */
function fixedColumns({ conditions }: ReadNode): ReadonlySet<string> {
  return new Set(conditions.flatMap((condition) => fixedColumn(condition) ?? []));
}

/** Returns whether a query finds at most one row, because it gives the whole primary key. */
export function isByKey(node: ReadNode): boolean {
  const { primaryKey } = node.table;
  const fixed = fixedColumns(node);
  return primaryKey.length > 0 && primaryKey.every((name) => fixed.has(name));
}

function fixedColumn(condition: ReadNode['conditions'][number]): string | undefined {
  if (condition.kind !== 'binary' || condition.operator !== '=') return undefined;
  const { value, negated, quantifier } = condition;
  const isColumn = value.of.kind === 'column' && value.path.length === 0;
  return isColumn && !negated && quantifier === undefined ? value.of.column.name : undefined;
}
