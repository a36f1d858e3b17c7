import type { SelectedColumn, SelectedCount } from '../request/index.ts';
import type { Table } from '../schema/index.ts';
import { castType } from './casts.ts';
import type { Context } from './context.ts';
import type { Output } from './read-plan.ts';
import { planValue } from './value.ts';

/** Throws 42703 for a column that is not there, and what a bad cast throws. */
export function planColumn(item: SelectedColumn, table: Table, context: Context): Output {
  const { cast, aggregate, aggregateCast } = item;
  return {
    kind: 'value',
    value: planValue(item, table, context),
    name: outputName(item),
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

/** The alias, else what is done to the column, else the last key of its path, else the column. */
function outputName({ alias, aggregate, path = [], column }: SelectedColumn): string {
  const key = path.findLast((step) => typeof step.key === 'string')?.key;
  return alias ?? aggregate ?? (key as string | undefined) ?? column;
}
