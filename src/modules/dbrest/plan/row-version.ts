import { rowVersionsUnknown } from '../fault/index.ts';
import type { Precondition, WriteRequest } from '../request/index.ts';
import type { Table } from '../schema/index.ts';
import type { ReadNode } from './node.ts';

/** A condition on the rows of a write. `column`: the one with their versions. */
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
