import { noColumn, noTable, noType } from '../fault/index.ts';
import type { Filter, ReadRequest, SelectItem } from '../request/index.ts';
import { BINARY_OPERATORS, SEARCH_OPERATORS } from '../request/index.ts';
import type { Column, Schema, Table } from '../schema/index.ts';
import { similarTable } from '../schema/index.ts';
import { castType } from './casts.ts';
import type { Condition, Output, ReadPlan, Sort } from './read-plan.ts';

/** The table that a request is about, and the role that asks. */
export interface ReadTarget {
  readonly schema: string;
  readonly table: string;
  readonly role: string;
}

/** Checks a request against the schema: every name in the result is the schema's. Throws a `DbrestFault`. */
export function planRead(request: ReadRequest, target: ReadTarget, known: Schema): ReadPlan {
  const table = known.tables.get(target.schema)?.get(target.table);
  if (!table) throw noTable(target.schema, target.table, similarTable(target, target.role, known));
  return {
    table,
    outputs: request.select.map((item) => planOutput(item, table)),
    conditions: request.filters.map((filter) => planCondition(filter, table, known)),
    sorts: request.order.map(({ column, ...rest }): Sort => ({ column: findColumn(table, column), ...rest })),
    ...(request.limit !== undefined && { limit: request.limit }),
    offset: request.offset,
  };
}

function findColumn(table: Table, name: string): Column {
  const column = table.columns.get(name);
  if (!column) throw noColumn(table.name, name);
  return column;
}

function planOutput(item: SelectItem, table: Table): Output {
  if (item.kind === 'all') return item;
  const cast = item.cast === undefined ? undefined : castType(item.cast);
  if (item.cast !== undefined && cast === undefined) throw noType(item.cast);
  return {
    kind: 'column',
    column: findColumn(table, item.column),
    ...(item.alias !== undefined && { alias: item.alias }),
    ...(cast !== undefined && { cast }),
  };
}

function planCondition(filter: Filter, table: Table, known: Schema): Condition {
  const { negated, operand } = filter;
  const column = findColumn(table, filter.column);
  switch (operand.kind) {
    case 'truth':
      return { column, negated, kind: 'truth', truth: operand.truth };
    case 'list':
      return { column, negated, kind: 'any', values: operand.values };
    case 'search':
      return {
        column,
        negated,
        kind: 'search',
        operator: searchFunction(filter.operator),
        ...searchWords(operand, known),
      };
    case 'text': {
      const pattern = filter.operator === 'like' || filter.operator === 'ilike';
      const value = pattern ? operand.text.replaceAll('*', '%') : operand.text;
      return {
        column,
        negated,
        kind: 'binary',
        operator: BINARY_OPERATORS.get(filter.operator) as string,
        value,
      };
    }
  }
}

function searchFunction(operator: string): string {
  return SEARCH_OPERATORS.get(operator) as string;
}

/** `fts.english.cats` of the specification: the first part counts as a configuration when the database has one of that name. */
function searchWords(
  { config, query }: { readonly config?: string; readonly query: string },
  { textSearchConfigs }: Schema,
): { config?: string; query: string } {
  if (config !== undefined) return { config, query };
  const dot = query.indexOf('.');
  const first = query.slice(0, Math.max(dot, 0));
  return textSearchConfigs.has(first) ? { config: first, query: query.slice(dot + 1) } : { query };
}
