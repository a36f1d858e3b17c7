import { qualifiedName, type Schema, splitModifier, type Table } from '../schema/index.ts';

/** The type of a value in JSON. Rows, enums and composite types are named only if their schema is described. */
export type ValueType =
  | 'string'
  | 'number'
  | 'boolean'
  | 'Json'
  | 'unknown'
  /** The result of a function that returns nothing. */
  | 'undefined'
  /** Rows whose columns the caller would have to define. */
  | 'record'
  | { readonly arrayOf: ValueType }
  | {
      readonly named: 'enum' | 'composite' | 'table' | 'view';
      readonly schema: string;
      readonly name: string;
    }
  /** The labels of an enum whose schema is not described. */
  | { readonly labels: readonly string[] };

/** A column, a field of a composite type or a result. */
export interface TypedField {
  readonly name: string;
  readonly type: ValueType;
  readonly isNullable: boolean;
}

/** A column; `insert` and `update` tell whether a write may or must contain it. */
export interface TypedColumn extends TypedField {
  /** The role may read it. */
  readonly isReadable: boolean;
  readonly insert: 'required' | 'optional' | 'never';
  readonly update: 'optional' | 'never';
}

/** A foreign key from a table or view to another one of the same schema, as `select` can embed it. */
export interface TypedRelationship {
  readonly foreignKeyName: string;
  readonly columns: readonly string[];
  readonly isOneToOne: boolean;
  readonly referencedRelation: string;
  readonly referencedColumns: readonly string[];
}

/** A member of a new row that holds rows of a table of the same schema. */
export interface TypedNested {
  readonly name: string;
  readonly table: string;
  /** It is one row; otherwise it is a list. */
  readonly isOne: boolean;
  /** The columns that its rows get from the row around them. */
  readonly filled: readonly string[];
}

/** A table or view. */
export interface TypedRelation {
  readonly name: string;
  /** By name, as all lists here. */
  readonly columns: readonly TypedColumn[];
  /** Functions of a row that `select` can name like columns. */
  readonly computed: readonly TypedField[];
  readonly relationships: readonly TypedRelationship[];
  /** Absent if new rows cannot contain others. */
  readonly nested?: readonly TypedNested[];
  /** A view that cannot be written has no types for writing. */
  readonly isWritable: boolean;
}

/** The result of a function; of each of its rows if `isSet`. */
export interface TypedResult {
  readonly isSet: boolean;
  /** The value, or its members. */
  readonly of: ValueType | { readonly fields: readonly TypedField[] };
}

/** A function, or one of several with the same name. */
export interface TypedFunction {
  readonly name: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly type: ValueType;
    readonly isOptional: boolean;
  }[];
  readonly returns: TypedResult;
  /** Present if it returns rows of a table, view or composite type (`to`). `from`: that of its argument, or `*`. */
  readonly rows?: {
    readonly from: string;
    readonly to: string;
    readonly isOneToOne: boolean;
    readonly isSetofReturn: boolean;
  };
  /** The reason why it cannot be called by its name. */
  readonly fault?: string;
}

/** The types of one schema. */
export interface TypedSchema {
  readonly name: string;
  readonly tables: readonly TypedRelation[];
  readonly views: readonly TypedRelation[];
  readonly functions: readonly TypedFunction[];
  readonly enums: readonly { readonly name: string; readonly labels: readonly string[] }[];
  readonly composites: readonly { readonly name: string; readonly fields: readonly TypedField[] }[];
}

/** The types of the schemas that a location serves, the default schema first. Plain data that JSON can hold. */
export interface ApiTypes {
  readonly schemas: readonly TypedSchema[];
}

/** Types that `to_json` does not convert to strings, and pseudo-types. */
const PLAIN: ReadonlyMap<string, ValueType> = new Map<string, ValueType>([
  ['smallint', 'number'],
  ['integer', 'number'],
  ['bigint', 'number'],
  ['real', 'number'],
  ['double precision', 'number'],
  ['numeric', 'number'],
  ['boolean', 'boolean'],
  ['json', 'Json'],
  ['jsonb', 'Json'],
  ['void', 'undefined'],
  ['record', 'record'],
  ['unknown', 'unknown'],
  ['"any"', 'unknown'],
  ['anyelement', 'unknown'],
  ['anyarray', 'unknown'],
  ['anynonarray', 'unknown'],
  ['anyenum', 'unknown'],
  ['anyrange', 'unknown'],
  ['anymultirange', 'unknown'],
  ['anycompatible', 'unknown'],
  ['anycompatiblearray', 'unknown'],
  ['anycompatiblenonarray', 'unknown'],
  ['anycompatiblerange', 'unknown'],
  ['anycompatiblemultirange', 'unknown'],
]);

/** The schema cache, and the schemas that are described. */
export interface TypeScope {
  readonly known: Schema;
  readonly schemas: ReadonlySet<string>;
  /** Returns whether new rows of a table may be in those of others. */
  readonly takes: (table: Table) => boolean;
  /** Returns whether the description contains the table or view. */
  readonly shows: (table: Table) => boolean;
}

/** The type in JSON of a type printed by `format_type`. */
export function valueType(type: string, scope: TypeScope): ValueType {
  if (type.endsWith('[]')) return { arrayOf: valueType(type.slice(0, -2), scope) };
  const { known, schemas } = scope;
  const shape = known.shapes?.get(type);
  const named = qualifiedName(type);
  const isDescribed = named !== undefined && schemas.has(named.schema);
  switch (shape?.kind) {
    case 'enum':
      return isDescribed ? { named: 'enum', ...named } : { labels: shape.labels };
    case 'domain':
      return valueType(shape.base, scope);
    case 'composite':
      return isDescribed ? { named: 'composite', ...named } : 'unknown';
    case 'json':
      return 'Json';
    case undefined:
      return (named && rowType(named, scope)) ?? PLAIN.get(splitModifier(type).name) ?? 'string';
  }
}

/** The row type of a table or view. */
function rowType(
  { schema, name }: { readonly schema: string; readonly name: string },
  { known, shows }: TypeScope,
): ValueType | undefined {
  const table = known.tables.get(schema)?.get(name);
  if (!table) return undefined;
  return shows(table) ? { named: table.isView ? 'view' : 'table', schema, name } : 'unknown';
}

/** Orders by name, independently of the locale. */
export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return order(a.name, b.name);
}

/** Orders texts by their code units. */
export function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
