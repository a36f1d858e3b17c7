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
  /** Absent if new rows have no others in them. */
  readonly nested?: readonly TypedNested[];
  /** A view that cannot be written has no types for writing. */
  readonly isWritable: boolean;
}

/** What a function returns; each row of it if `isSet`. */
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
  /** Present if it returns rows of a table, view or composite type (`to`); `from`: the table whose row it takes, or `*`. */
  readonly rows?: {
    readonly from: string;
    readonly to: string;
    readonly isOneToOne: boolean;
    readonly isSetofReturn: boolean;
  };
  /** Why it cannot be called by its name. */
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
