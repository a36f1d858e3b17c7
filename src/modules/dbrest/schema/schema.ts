import type { Access, Namespace, TypeShape } from './discovery.ts';

/** A column of a table, view or result. */
export interface Column {
  readonly name: string;
  /** As printed by `format_type`, with the schema of user-defined types: `integer`, `numeric(3,1)`, `public.mood`. */
  readonly type: string;
  readonly comment?: string;
  /** The default value, as SQL that does not depend on the search path. */
  readonly defaultSql?: string;
  readonly identity?: 'always' | 'by default';
  /** Computed from other columns; cannot be written. */
  readonly isGenerated?: boolean;
  readonly isNotNull?: boolean;
}

/** A unique index over plain columns, which `on conflict` can refer to. */
export interface UniqueIndex {
  readonly columns: readonly string[];
  /** The predicate of a partial index, as SQL that does not depend on the search path. */
  readonly predicate?: string;
}

/** An exclusion constraint over plain columns. */
export interface Exclusion {
  readonly name: string;
  readonly columns: readonly string[];
}

/** `pg_class.relkind`: table, partitioned table, view, materialized view, foreign table. */
export type RelationKind = 'r' | 'p' | 'v' | 'm' | 'f';

/** A function of a row of a table: a computed column, or a computed relationship if it returns rows of a table. */
export interface RowFunction {
  readonly schema: string;
  readonly name: string;
  /** Type of the result, as printed by `format_type`. */
  readonly type: string;
  readonly returnsSet: boolean;
  /** The table whose rows it returns. */
  readonly returns?: TableName;
  /** It returns at most one row. */
  readonly single: boolean;
}

/** The columns of a base table that a table or view selects. */
export interface BaseColumns {
  /** Object id of the base table; a table is its own base. */
  readonly base: string;
  /** Names here by column of the base table; absent if all have their own names. */
  readonly columns?: ReadonlyMap<string, readonly string[]>;
}

/** A table, view, materialized view, foreign or partitioned table. */
export interface Table extends TableName {
  readonly columns: ReadonlyMap<string, Column>;
  /** In key order; empty without a primary key. For a view: those keys of its base tables that it selects whole. */
  readonly primaryKey: readonly string[];
  /** Columns of each unique constraint. */
  readonly uniques?: readonly (readonly string[])[];
  /** Object ids of the roles that have any privilege on it; '0' is PUBLIC. */
  readonly grantees: readonly string[];
  readonly comment?: string;
  readonly isView?: boolean;
  readonly kind?: RelationKind;
  readonly uniqueIndexes?: readonly UniqueIndex[];
  readonly exclusions?: readonly Exclusion[];
  /** A trigger or a rule may give a new row values that an insert does not have. */
  readonly completesRows?: true;
  readonly bases?: readonly BaseColumns[];
  readonly functions?: readonly RowFunction[];
  readonly access?: Access;
  /** Reading its columns cannot change the session. */
  readonly isInert?: true;
  /**
   * Present if a write runs no user-defined function. `cascades`: an update or a delete may change other tables.
   * `sequences`: an insert takes values from sequences.
   */
  readonly inertWrites?: { readonly cascades: boolean; readonly sequences: boolean };
  /** Present if changes of its rows are announced. */
  readonly followed?: Followed;
}

/** The announcement of changes of a relation: by its own triggers, or those of the table that a view selects. */
export interface Followed {
  /** The announcing table: `schema.name`. */
  readonly by: string;
  /** The key of that table: each column as it is announced, its name in the relation, and its type. */
  readonly key: readonly { readonly announced: string; readonly own: string; readonly type: string }[];
}

export interface TableName {
  readonly schema: string;
  readonly name: string;
}

/** An isolation level of PostgreSQL. */
export type Isolation = 'serializable' | 'repeatable read' | 'read committed' | 'read uncommitted';

/** Settings of a role (PostgREST, "Impersonated Role Settings"). */
export interface RoleSettings {
  readonly names: readonly string[];
  /** In the order of the names. */
  readonly values: readonly string[];
  /** `statement_timeout`, which `names` do not contain. */
  readonly timeoutMs?: number;
  /** `default_transaction_isolation`, which `names` do not contain. */
  readonly isolation?: Isolation;
}

/** Functions of the casts of a domain (PostgREST, "Domain Representations"). */
export interface Representation {
  /** Domain to JSON, for responses. */
  readonly shown?: TableName;
  /** Text to domain, for the values of filters. */
  readonly read?: TableName;
  /** JSON to domain, for the members of a body. */
  readonly written?: TableName;
}

/** A foreign key between two base tables. */
export interface ForeignKey {
  readonly name: string;
  /** Object ids. */
  readonly table: string;
  readonly target: string;
  /** Columns of both tables, in key order. */
  readonly pairs: readonly (readonly [column: string, targetColumn: string])[];
  /** The columns are also a key of their table: each target row has at most one row. */
  readonly unique: boolean;
}

/** An input argument of a function. */
export interface Argument {
  /** Empty for the argument of a function that takes a whole body. */
  readonly name: string;
  /** As printed by `format_type`. */
  readonly type: string;
  readonly required: boolean;
  /** Variadic: takes any number of values. */
  readonly variadic: boolean;
}

/** The result of a function, or each row of a set. */
export type FunctionResult =
  | { readonly kind: 'void' }
  | { readonly kind: 'scalar'; readonly type: string }
  /** Rows of a table or view. */
  | { readonly kind: 'table'; readonly table: TableName }
  /** Rows of a composite type, which `type` names, or of `out` and `table` arguments. */
  | { readonly kind: 'columns'; readonly columns: readonly Column[]; readonly type?: string };

/** A callable function. Procedures are included for error messages. */
export interface StoredFunction extends TableName {
  readonly isProcedure: boolean;
  readonly arguments: readonly Argument[];
  readonly returns: FunctionResult;
  readonly returnsSet: boolean;
  /** Declared to return at most one row (`rows 1`). */
  readonly isOneRow?: true;
  readonly volatility: 'volatile' | 'stable' | 'immutable';
  /** The media type of its result: the name of the returned domain. A set has none. */
  readonly mediaType?: string;
  /** Its own `statement_timeout`, 0 for none. gw applies it: a setting of the function takes effect too late. */
  readonly timeoutMs?: number;
  /** Its own `default_transaction_isolation`, for the same reason. */
  readonly isolation?: Isolation;
  /** Object ids of the roles that may call it; '0' is PUBLIC. */
  readonly grantees: readonly string[];
  readonly comment?: string;
}

/** An aggregate that produces a media type from rows. */
export interface MediaHandler extends TableName {
  readonly mediaType: string;
  /** The table whose rows it accepts; absent for rows of any table. */
  readonly table?: TableName;
}

/**
 * The schema cache: everything that requests can name, as cloneable data. Names are keys of maps, so that inherited
 * members cannot be named.
 */
export interface Schema {
  /** Number of the read; a higher one is newer. Absent if there is only one. */
  readonly reads?: number;
  /** When its read began, in milliseconds since the epoch. */
  readonly beganMs?: number;
  /** The state of the database before its read; another text means that it has changed. */
  readonly state?: string;
  /** The digest of its catalogue; equal digests mean equal entries. */
  readonly digest?: string;
  /** By schema, then by table. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, Table>>;
  readonly foreignKeys?: readonly ForeignKey[];
  /** Overloads by schema, then by name. */
  readonly functions?: ReadonlyMap<string, ReadonlyMap<string, readonly StoredFunction[]>>;
  readonly mediaHandlers?: readonly MediaHandler[];
  /** User-defined types: enums, domains, ranges, base and composite types, including those of extensions. */
  readonly types?: readonly TableName[];
  /** Their object ids. A type that replaces one of the same name has another id. */
  readonly typeIds?: ReadonlySet<string>;
  /** Representations by domain, as printed by `format_type`. */
  readonly representations?: ReadonlyMap<string, Representation>;
  /** Base types by domain, both as printed by `format_type`; a base type may be a domain. */
  readonly domains?: ReadonlyMap<string, string>;
  /** Schemas of the operators `=` that extensions define for their types, by type, as printed by `format_type`. */
  readonly equalities?: ReadonlyMap<string, string>;
  /** Names of text search configurations of all schemas. */
  readonly textSearchConfigs: ReadonlySet<string>;
  /**
   * Roles that the login role may become, with the object ids of the roles whose privileges they have; 'all' for
   * superusers.
   */
  readonly roles: ReadonlyMap<string, ReadonlySet<string> | 'all'>;
  /** Settings of `alter role … set`, by role. */
  readonly roleSettings?: ReadonlyMap<string, RoleSettings>;
  /** Structures of user-defined types, by the name that `format_type` prints. */
  readonly shapes?: ReadonlyMap<string, TypeShape>;
  readonly namespaces?: ReadonlyMap<string, Namespace>;
  /** The settings that `dbrest_config` reads, by name. May contain secrets. */
  readonly settings?: readonly StoredSetting[];
}

/** Features of the server that few requests depend on. */
export interface ServerFeatures {
  /** The schema of PostGIS; absent if it is not installed. */
  readonly geoSchema?: string;
}

/** A setting that `alter role` has given to the role that gw logs in with. */
export interface StoredSetting {
  /** `pgrst.db_schemas` in lower case, or `app.settings.name` as it was written. */
  readonly name: string;
  /** `null`: the value is too long. */
  readonly value: string | null;
}

/** A set of keys takes some kilobytes. */
const LONGEST_VALUE_BYTES = 65_536;

/**
 * Settings of the login role that configure gw, those for this database before those for all. They are read from the
 * catalogue, because a session only knows the settings of its own start.
 */
export const SETTINGS_SQL = `
union all
(
  select 'setting', json_build_array(
    s.name, case when pg_catalog.octet_length(s.value) <= ${LONGEST_VALUE_BYTES} then s.value end)::text
  from (
    select distinct on (given.name) given.name, given.value
    from pg_catalog.pg_db_role_setting r
    cross join pg_catalog.unnest(r.setconfig) c
    cross join lateral (select pg_catalog.split_part(c, '=', 1) as written) w
    cross join lateral (
      select
        case when pg_catalog.lower(w.written) like 'pgrst.%' then pg_catalog.lower(w.written) else w.written end as name,
        pg_catalog.substr(c, pg_catalog.strpos(c, '=') + 1) as value
    ) given
    where r.setrole = (select a.oid from pg_catalog.pg_roles a where a.rolname = session_user)
      and (r.setdatabase = 0 or r.setdatabase = (
        select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()))
      and (given.name like 'pgrst.%' or given.name like 'app.settings.%')
    order by given.name, r.setdatabase desc
  ) s
  order by s.name
)`;

const QUALIFIED = /^("(?:[^"]|"")+"|[^".]+)\.("(?:[^"]|"")+"|[^".]+)$/;

/** The schema and name of a user-defined type printed by `format_type`; `undefined` for a built-in type or an array. */
export function qualifiedName(type: string): TableName | undefined {
  const [schema, name] = QUALIFIED.exec(type)?.slice(1).map(unquoted) ?? [];
  return schema === undefined || name === undefined ? undefined : { schema, name };
}

function unquoted(identifier: string): string {
  return identifier.startsWith('"') ? identifier.slice(1, -1).replaceAll('""', '"') : identifier;
}

/** Splits the modifier from a type: `timestamp(3) with time zone` is `timestamp with time zone` with modifier 3. */
export function splitModifier(type: string): { name: string; modifier: string | undefined } {
  const found = (type.includes('"') ? /\(([^()"]*)\)$/ : /\(([^()]*)\)/).exec(type);
  if (!found) return { name: type, modifier: undefined };
  return { name: type.replace(found[0], ''), modifier: found[1] };
}
