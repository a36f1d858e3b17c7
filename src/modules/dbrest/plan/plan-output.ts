import type { SelectedColumn, SelectedCount } from '../request/index.ts';
import type { Table } from '../schema/index.ts';
import { castType } from './casts.ts';
import type { Context } from './context.ts';
import { shownThrough } from './every-column.ts';
import type { Output } from './read-plan.ts';
import { planValue, rowFunctions } from './value.ts';

/** Throws 42703 for a column that is not there, and what a bad cast throws. */
export function planColumn(item: SelectedColumn, table: Table, context: Context): Output {
  const { cast, aggregate, aggregateCast } = item;
  const value = planValue(item, table, context);
  return {
    kind: 'value',
    value,
    name: outputName(item),
    ...(value.path.length === 0 && !aggregate && shownThrough(value, context.known)),
    ...(cast !== undefined && { cast: castType(cast, context) }),
    ...(aggregate && { aggregate }),
    ...(aggregateCast !== undefined && { aggregateCast: castType(aggregateCast, context) }),
  };
}

/** Throws what a bad cast throws. */
export function planCount({ alias = 'count', cast }: SelectedCount, context: Context): Output {
  const shown = { kind: 'rows', name: alias, aggregate: 'count' } as const;
  return cast === undefined ? shown : { ...shown, aggregateCast: castType(cast, context) };
}

/**
 * `orders(count)`: where no column is called so, the number of rows, as PostgreSQL itself reads `orders.count`. Clients
 * wrote it before there were aggregates, so that it stands where aggregates are off, alone.
 */
export function countColumn(item: SelectedColumn, table: Table, context: Context): SelectedCount | undefined {
  const { column, path, aggregate, alias, cast } = item;
  if (column !== 'count' || path || aggregate || table.columns.has(column)) return undefined;
  if (rowFunctions(table, column, context).length > 0) return undefined;
  return { kind: 'count', ...(alias !== undefined && { alias }), ...(cast && { cast }) };
}

/** The alias, else what is done to the column, else the last key of its path, else the column. */
function outputName({ alias, aggregate, path = [], column }: SelectedColumn): string {
  const key = path.findLast((step) => typeof step.key === 'string')?.key;
  return alias ?? aggregate ?? (key as string | undefined) ?? column;
}
