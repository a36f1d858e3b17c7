import { notGrouped } from '../fault/index.ts';
import type { Table } from '../schema/index.ts';
import type { Output, Sort } from './node.ts';
import { indexAmong } from './value.ts';

/** Grouped rows: their outputs and their source. */
interface GroupedRows {
  readonly outputs: readonly Output[];
  readonly table: Table;
  /** The rows come from a function or a write instead of the table. */
  readonly isDerived: boolean;
}

/**
 * The order of grouped rows. It refers to an output where it can: an equal expression would not be recognised as the same.
 * Throws 42803 for an order by what the rows are not grouped by.
 */
export function groupedSort(sort: Sort, { outputs, table, isDerived }: GroupedRows): Sort {
  if (sort.kind === 'related') return groupedRelatedSort(sort, outputs);
  if (sort.kind !== 'value') return sort;
  const { value, ...ordering } = sort;
  const index = indexAmong(value, outputs);
  if (index !== undefined) return { ...ordering, kind: 'output', index };
  const columns = groupedColumns(outputs);
  const { of } = value;
  const isDetermined = !isDerived && isKeyAmong(columns, table);
  if (isDetermined || (of.kind === 'column' && columns.has(of.column.name))) return sort;
  throw notGrouped(table.name, of.kind === 'column' ? of.column.name : '*');
}

function groupedRelatedSort(sort: Sort & { kind: 'related' }, outputs: readonly Output[]): Sort {
  const { embed, index } = sort;
  const isGrouped = outputs.some((output) => {
    if (output.kind === 'embed') return output.embed === embed;
    return output.kind === 'spread' && output.embed === embed && output.index === index && !output.aggregate;
  });
  if (isGrouped) return sort;
  const { outputs: related, table } = embed.node;
  throw notGrouped(table.name, relatedName(related[index]));
}

function relatedName(output: Output | undefined): string {
  if (!output || output.kind === 'all') return '*';
  const isColumn = output.kind === 'value' && output.value.of.kind === 'column';
  return isColumn ? output.value.of.column.name : output.name;
}

/** The columns by which rows are grouped as they are. */
function groupedColumns(outputs: readonly Output[]): ReadonlySet<string> {
  return new Set(
    outputs.flatMap((output) => {
      if (output.kind !== 'value' || output.aggregate || output.cast !== undefined || output.through)
        return [];
      const { of, path } = output.value;
      return of.kind === 'column' && path.length === 0 ? [of.column.name] : [];
    }),
  );
}

/** With the primary key of a table, PostgreSQL knows all other columns of a group. */
function isKeyAmong(columns: ReadonlySet<string>, { primaryKey, isView }: Table): boolean {
  return !isView && primaryKey.length > 0 && primaryKey.every((name) => columns.has(name));
}
