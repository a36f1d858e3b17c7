/** A column as the database has it. */
export interface Column {
  readonly name: string;
  /** As `format_type` prints it: `integer`, `character varying(20)`, `public.mood`. */
  readonly type: string;
}

/** A table, view, materialized view, foreign or partitioned table. */
export interface Table {
  readonly schema: string;
  readonly name: string;
  readonly columns: ReadonlyMap<string, Column>;
  /** In key order; empty without a primary key. */
  readonly primaryKey: readonly string[];
  /** Object ids of the roles that hold any privilege on it; '0' is PUBLIC. */
  readonly grantees: readonly string[];
}

/** What one database exposes to SQL, as plain cloneable data. Names are looked up in maps: no name is inherited. */
export interface Schema {
  /** By schema, then by table. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, Table>>;
  /** Text search configurations that need no schema name. */
  readonly textSearchConfigs: ReadonlySet<string>;
  /** Roles that the login role may become, with the object ids of all whose privileges they have; 'all': superuser. */
  readonly roles: ReadonlyMap<string, ReadonlySet<string> | 'all'>;
}
