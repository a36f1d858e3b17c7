import type { CatalogueEntries } from './catalogue-entries.ts';
import type { Access } from './discovery.ts';
import type { Column, RowFunction, TableName, UniqueIndex } from './types.ts';

/** A table or view while the schema is put together. */
export interface Relation {
  readonly id: string;
  readonly name: TableName;
  readonly kind: CatalogueEntries['table'][3];
  readonly columns: ReadonlyMap<string, Column>;
  /** By attribute number. */
  readonly columnNames: ReadonlyMap<number, string>;
  readonly primaryKey: readonly string[] | undefined;
  readonly uniques: readonly (readonly string[])[];
  readonly grantees: readonly string[];
  readonly comment: string | null;
  readonly functions: RowFunction[];
  isInert?: true;
  access?: Access;
  facts?: WriteFacts;
  /** Of a view: what its columns are. */
  shown?: CatalogueEntries['view'][1];
}

/** What a write has to know of a relation. */
export interface WriteFacts {
  /** By attribute number. */
  readonly columns: ReadonlyMap<number, Omit<Column, 'name' | 'type'>>;
  readonly uniqueIndexes: readonly UniqueIndex[];
}

/** By object id. */
export type Relations = ReadonlyMap<string, Relation>;

/** What its own entry says of it. */
export function relationOf(entry: CatalogueEntries['table']): Relation {
  const [id, schema, name, kind, columns, keys, grantees, comment] = entry;
  const columnNames = new Map(columns.map(([number, column]) => [number, column]));
  const keysOf = (wanted: 'p' | 'u') =>
    keys.flatMap(([is, numbers]) => (is === wanted ? [namesOf(numbers, columnNames)] : []));
  return {
    id,
    name: { schema, name },
    kind,
    columns: new Map(columns.map(([, column, type, note]) => [column, columnOf(column, type, note)])),
    columnNames,
    primaryKey: keysOf('p')[0],
    uniques: keysOf('u'),
    grantees,
    comment,
    functions: [],
  };
}

function columnOf(name: string, type: string, comment: string | null): Column {
  return comment === null ? { name, type } : { name, type, comment };
}

/** Columns by their attribute numbers. */
export function namesOf(numbers: readonly number[], names: Relation['columnNames']): string[] {
  return numbers.map((number) => names.get(number) ?? '');
}
