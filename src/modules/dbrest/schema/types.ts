import type { Access, Namespace, TypeShape } from './discovery.ts';

/** A column as the database has it. */
export interface Column {
  readonly name: string;
  /** As `format_type` prints it, with the schema of what users made: `integer`, `character varying(20)`, `public.mood`. */
  readonly type: string;
  readonly comment?: string;
  /** What a row gets that is inserted without a value, as SQL that needs no search path. */
  readonly defaultSql?: string;
  readonly identity?: 'always' | 'by default';
  /** Computed from other columns: never written. */
  readonly isGenerated?: boolean;
  readonly isNotNull?: boolean;
}

/** A unique index over plain columns that an upsert can refer to. */
export interface UniqueIndex {
  readonly columns: readonly string[];
  /** Of a partial index: the condition, as SQL that needs no search path. */
  readonly predicate?: string;
}

/** `pg_class.relkind`: table, partitioned table, view, materialized view, foreign table. */
export type RelationKind = 'r' | 'p' | 'v' | 'm' | 'f';

/** A function of one row of a table: a computed column, or with rows of a table as its result, a computed relationship. */
export interface RowFunction {
  readonly schema: string;
  readonly name: string;
  /** Type of the result, as `format_type` prints it. */
  readonly type: string;
  readonly returnsSet: boolean;
  /** The table whose rows are the result. */
  readonly returns?: TableName;
  /** At most one row comes back. */
  readonly single: boolean;
}

/** Columns of a table or view that show columns of a base table. */
export interface BaseColumns {
  /** Object id of the base table; a table is its own base. */
  readonly base: string;
  /** Base column → names here. Absent: each under its own name. */
  readonly columns?: ReadonlyMap<string, readonly string[]>;
}

/** A table, view, materialized view, foreign or partitioned table. */
export interface Table extends TableName {
  readonly columns: ReadonlyMap<string, Column>;
  /** In key order; empty without a primary key. Of a view: the key of a base table that it shows whole. */
  readonly primaryKey: readonly string[];
  /** Columns of each unique constraint. */
  readonly uniques?: readonly (readonly string[])[];
  /** Object ids of the roles that hold any privilege on it; '0' is PUBLIC. */
  readonly grantees: readonly string[];
  readonly comment?: string;
  readonly isView?: boolean;
  readonly kind?: RelationKind;
  readonly uniqueIndexes?: readonly UniqueIndex[];
  readonly bases?: readonly BaseColumns[];
  readonly functions?: readonly RowFunction[];
  readonly access?: Access;
}

export interface TableName {
  readonly schema: string;
  readonly name: string;
}

/** A foreign key between two base tables. */
export interface ForeignKey {
  readonly name: string;
  /** Object ids. */
  readonly table: string;
  readonly target: string;
  /** Column here and column there, in key order. */
  readonly pairs: readonly (readonly [column: string, targetColumn: string])[];
  /** The columns are a key of their table too: there is at most one row for each target row. */
  readonly unique: boolean;
}

/** What one database exposes to SQL, as plain cloneable data. Names are looked up in maps: no name is inherited. */
export interface Schema {
  /** By schema, then by table. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, Table>>;
  readonly foreignKeys?: readonly ForeignKey[];
  /** Enums, domains, ranges, base and composite types that users or extensions made. */
  readonly types?: readonly TableName[];
  /** Domain → the type that it is made of, perhaps a domain itself; both as `format_type` prints them. */
  readonly domains?: ReadonlyMap<string, string>;
  /** Names of text search configurations, wherever they lie. */
  readonly textSearchConfigs: ReadonlySet<string>;
  /** Roles that the login role may become, with the object ids of all whose privileges they have; 'all': superuser. */
  readonly roles: ReadonlyMap<string, ReadonlySet<string> | 'all'>;
  /** What users made, by the name that `format_type` prints. */
  readonly shapes?: ReadonlyMap<string, TypeShape>;
  readonly namespaces?: ReadonlyMap<string, Namespace>;
}
