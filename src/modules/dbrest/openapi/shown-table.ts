import type { Column, Privilege, Rights, Table } from '../schema/index.ts';

/** A column with what may be done with it. */
export interface ShownColumn {
  readonly column: Column;
  readonly isReadable: boolean;
  readonly isInsertable: boolean;
  readonly isUpdatable: boolean;
}

/** A table or view with what a description says of it. */
export interface ShownTable {
  readonly table: Table;
  /** Those with which anything may be done. */
  readonly columns: readonly ShownColumn[];
  readonly methods: {
    readonly get: boolean;
    readonly post: boolean;
    readonly put: boolean;
    readonly patch: boolean;
    readonly delete: boolean;
  };
}

/** What somebody with these rights sees of a table, if anything. Partitions are seen as their table. */
export function showTable(table: Table, rights: Rights): readonly ShownTable[] {
  const { access } = table;
  if (!access || access.isPartition) return [];
  const columns = Array.from(table.columns.values(), (column) => showColumn(column, table, rights));
  const any = (privilege: Privilege, allows: (column: ShownColumn) => boolean): boolean =>
    columns.some(allows) || (columns.length === 0 && rights.may(privilege, table));
  const get = any('r', ({ isReadable }) => isReadable);
  const post = access.insertable && any('a', ({ isInsertable }) => isInsertable);
  const patch = access.updatable && any('w', ({ isUpdatable }) => isUpdatable);
  const isDeletable = access.deletable && rights.may('d', table);
  if (!get && !post && !patch && !isDeletable) return [];
  const isKey = ({ column }: ShownColumn): boolean => table.primaryKey.includes(column.name);
  const keys = columns.filter(isKey);
  const put = post && patch && keys.length > 0 && keys.every(({ isInsertable }) => isInsertable);
  const shown = columns.filter((column) => column.isReadable || column.isInsertable || column.isUpdatable);
  return [{ table, columns: shown, methods: { get, post, put, patch, delete: isDeletable } }];
}

function showColumn(column: Column, table: Table, rights: Rights): ShownColumn {
  const { insertable = false, updatable = false } = table.access ?? {};
  const isWritable = column.isGenerated !== true && column.identity !== 'always';
  return {
    column,
    isReadable: rights.may('r', table, column.name),
    isInsertable: isWritable && insertable && rights.may('a', table, column.name),
    isUpdatable: isWritable && updatable && rights.may('w', table, column.name),
  };
}
