import { type DbrestFault, notGrouped, notSelected } from '../fault/index.ts';
import type { Table } from '../schema/index.ts';
import type { Embed, Output, Sort } from './node.ts';
import { indexAmong } from './value.ts';

/** Grouped rows: their outputs and their source. */
interface GroupedRows {
  readonly outputs: readonly Output[];
  readonly table: Table;
  /** The rows come from a function or a write instead of the table. */
  readonly isDerived: boolean;
  /** They are grouped for `distinct` alone. */
  readonly isDistinct: boolean;
}

/**
 * The order of grouped rows. It refers to an output where it can: an equal expression would not be recognised as the same.
 * Throws 42803 for an order by what the rows are not grouped by, for distinct rows 42P10.
 */
export function groupedSort(sort: Sort, rows: GroupedRows): Sort {
  switch (sort.kind) {
    case 'output':
      return sort;
    case 'related':
      return groupedRelatedSort(sort, rows);
    case 'aggregation': {
      const missing = sort.embed && ungroupedTie(sort.embed, rows);
      if (missing !== undefined) throw ungrouped(rows.table, missing, rows);
      return sort;
    }
    case 'value': {
      const { value, ...ordering } = sort;
      const index = indexAmong(value, rows.outputs);
      if (index !== undefined) return { ...ordering, kind: 'output', index };
      const { of } = value;
      const isColumn = of.kind === 'column';
      if (isDetermined(rows) || (isColumn && groupedColumns(rows.outputs).has(of.column.name))) return sort;
      throw ungrouped(rows.table, isColumn ? of.column.name : '*', rows);
    }
  }
}

function ungrouped(table: Table, column: string, { isDistinct }: GroupedRows): DbrestFault {
  return isDistinct ? notSelected() : notGrouped(table.name, column);
}

/** A column that joins the rows with an embed and by which they are not grouped; `undefined` if there is none. */
function ungroupedTie({ by }: Embed, rows: GroupedRows): string | undefined {
  if (isDetermined(rows)) return undefined;
  if (!('pairs' in by)) return '*';
  const columns = groupedColumns(rows.outputs);
  return by.pairs.map(([own]) => own).find((name) => !columns.has(name));
}

function groupedRelatedSort(sort: Sort & { kind: 'related' }, rows: GroupedRows): Sort {
  const { embed, index } = sort;
  const isGrouped = rows.outputs.some((output) => {
    if (output.kind === 'embed') return output.embed === embed;
    return output.kind === 'spread' && output.embed === embed && output.index === index && !output.aggregate;
  });
  if (isGrouped) return sort;
  const { outputs, table } = embed.node;
  throw ungrouped(table, relatedName(outputs[index]), rows);
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
function isDetermined({ outputs, table: { primaryKey, isView }, isDerived }: GroupedRows): boolean {
  if (isDerived || isView || primaryKey.length === 0) return false;
  const columns = groupedColumns(outputs);
  return primaryKey.every((name) => columns.has(name));
}
