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
  /** Reading its columns runs nothing that could leave something in the session. */
  readonly isInert?: true;
}

export interface TableName {
  readonly schema: string;
  readonly name: string;
}

/** Settings that a role brings with it (PostgREST, "Impersonated Role Settings"). */
export interface RoleSettings {
  readonly names: readonly string[];
  /** In the order of the names. */
  readonly values: readonly string[];
  /** `statement_timeout`, which stands in none of the two. */
  readonly timeoutMs?: number;
}

/** Functions of a domain's casts (PostgREST, "Domain Representations"). */
export interface Representation {
  /** Domain → json: what an answer shows. */
  readonly shown?: TableName;
  /** Text → domain: what the value of a filter means. */
  readonly read?: TableName;
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

/** One argument of a function that comes in. */
export interface Argument {
  /** '' for the only argument of a function that takes a whole body. */
  readonly name: string;
  /** As `format_type` prints it. */
  readonly type: string;
  readonly required: boolean;
  /** Takes all values of an array. */
  readonly variadic: boolean;
}

/** What one call of a function gives, or each row of a set. */
export type FunctionResult =
  | { readonly kind: 'void' }
  | { readonly kind: 'scalar'; readonly type: string }
  /** Rows of a table or view. */
  | { readonly kind: 'table'; readonly table: TableName }
  /** Rows of a composite type, or of `out` and `table` arguments. */
  | { readonly kind: 'columns'; readonly columns: readonly Column[] };

/** A function as a request can call it, or a procedure, so that an error can tell of it. */
export interface StoredFunction extends TableName {
  readonly isProcedure: boolean;
  readonly arguments: readonly Argument[];
  readonly returns: FunctionResult;
  readonly returnsSet: boolean;
  readonly volatility: 'volatile' | 'stable' | 'immutable';
  /** The media type that its result is: the name of the domain. */
  readonly mediaType?: string;
  /** Its own `statement_timeout`, 0 for none: left to itself it would come too late for the statement that calls it. */
  readonly timeoutMs?: number;
  /** Object ids of the roles that may call it; '0' is PUBLIC. */
  readonly grantees: readonly string[];
  readonly comment?: string;
}

/** An aggregate that makes a media type of rows. */
export interface MediaHandler extends TableName {
  readonly mediaType: string;
  /** The table whose rows it takes; absent: any rows. */
  readonly table?: TableName;
}

/** What one database exposes to SQL, as plain cloneable data. Names are looked up in maps: no name is inherited. */
export interface Schema {
  /** Of two, the one with the higher number was read later; absent where there is but one. */
  readonly reads?: number;
  /** By schema, then by table. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, Table>>;
  readonly foreignKeys?: readonly ForeignKey[];
  /** By schema, then by name: overloads share one. */
  readonly functions?: ReadonlyMap<string, ReadonlyMap<string, readonly StoredFunction[]>>;
  readonly mediaHandlers?: readonly MediaHandler[];
  /** Enums, domains, ranges, base and composite types that users or extensions made. */
  readonly types?: readonly TableName[];
  /** Domain, as `format_type` prints it → how clients see and write its values, where that is a matter of its own. */
  readonly representations?: ReadonlyMap<string, Representation>;
  /** Domain → the type that it is made of, perhaps a domain itself; both as `format_type` prints them. */
  readonly domains?: ReadonlyMap<string, string>;
  /** Names of text search configurations, wherever they lie. */
  readonly textSearchConfigs: ReadonlySet<string>;
  /** Roles that the login role may become, with the object ids of all whose privileges they have; 'all': superuser. */
  readonly roles: ReadonlyMap<string, ReadonlySet<string> | 'all'>;
  /** What `alter role … set` says, by role, where it says anything. */
  readonly roleSettings?: ReadonlyMap<string, RoleSettings>;
  /** What users made, by the name that `format_type` prints. */
  readonly shapes?: ReadonlyMap<string, TypeShape>;
  readonly namespaces?: ReadonlyMap<string, Namespace>;
}

/** What a server can do, and few requests ask for. */
export interface ServerFeatures {
  readonly timeZones: ReadonlySet<string>;
  /** Where PostGIS turns a row into a feature; absent without PostGIS. */
  readonly geoSchema?: string;
}
