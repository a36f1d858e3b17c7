import {
  type Column,
  type Privilege,
  type Relationship,
  relationshipsOf,
  type Rights,
  type Table,
  type Schema,
} from '../schema/index.ts';
import {
  componentName,
  type JsonSchema,
  nullable,
  propertyReference,
  reference,
  type TypeContext,
  typeSchema,
} from './json-schema.ts';

/** A column and the operations that are allowed on it. */
interface ShownColumn {
  readonly column: Column;
  readonly isReadable: boolean;
  readonly isInsertable: boolean;
  readonly isUpdatable: boolean;
}

/** A table or view as a description shows it. */
export interface ShownTable {
  readonly table: Table;
  /** Columns on which some operation is allowed. */
  readonly columns: readonly ShownColumn[];
  readonly methods: {
    readonly get: boolean;
    readonly post: boolean;
    readonly put: boolean;
    readonly patch: boolean;
    readonly delete: boolean;
  };
}

/** The part of a table that a role with these rights sees, if any. Partitions are not listed. */
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

/** A constant with its casts: `'new'::text`, `'{}'::public.tags[]`, `1.5`, `'-1'::integer`. */
const QUOTED = /^'((?:[^']|'')*)'::(.*)$/s;
const NUMBER = /^\(?(-?\d+(?:\.\d+)?)\)?(?:::[\w ]+)?$/;

/** The default of a column: a JSON value if it is constant, otherwise its SQL. */
function defaultOf(sql: string, jsonType: unknown): { default: unknown } | { 'x-pg-default': string } {
  const value = constantOf(sql, jsonType);
  return value === undefined ? { 'x-pg-default': sql } : { default: value };
}

function constantOf(sql: string, jsonType: unknown): unknown {
  if (sql === 'true' || sql === 'false') return sql === 'true';
  const text = QUOTED.exec(sql)?.[1]?.replaceAll("''", "'") ?? NUMBER.exec(sql)?.[1];
  if (text === undefined) return undefined;
  const types: readonly unknown[] = Array.isArray(jsonType) ? jsonType : [jsonType];
  if (types.includes('string')) return text;
  if (types.includes('array')) return text === '{}' ? [] : undefined;
  return jsonConstant(text, types);
}

/** Parses a number if that is exact, or JSON for columns that accept any JSON. */
function jsonConstant(text: string, types: readonly unknown[]): unknown {
  const isNumber = types.includes('integer') || types.includes('number');
  if (isNumber) return String(Number(text)) === text ? Number(text) : undefined;
  if (types.some((type) => type !== undefined)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The schemas of a table's rows for reading, and for insert and update if they are possible. */
export function tableSchemas(shown: ShownTable, context: TypeContext): readonly [name: string, JsonSchema][] {
  const name = componentName(shown.table.name);
  const { post, patch } = shown.methods;
  return [
    [name, rowSchema(shown, context)],
    ...(post ? [[`${name}.insert`, insertSchema(shown, context)] as [string, JsonSchema]] : []),
    ...(patch ? [[`${name}.update`, updateSchema(shown, context)] as [string, JsonSchema]] : []),
  ];
}

/** The schema of a complete row. `select` can omit columns and add embeds. */
function rowSchema({ table, columns }: ShownTable, context: TypeContext): JsonSchema {
  const relationships = relationshipsOf(table, context.known).filter(({ target }) =>
    context.hasComponent(target.schema, target.name),
  );
  const required = columns.filter(({ column, isReadable }) => isReadable && column.isNotNull === true);
  const properties = columns.map((shown) => {
    const { name } = shown.column;
    const notes = notesOf(name, { key: table.primaryKey, relationships });
    return [name, columnSchema(shown, notes, context)] as const;
  });
  return {
    type: 'object',
    ...(table.comment !== undefined && { description: table.comment }),
    ...(required.length > 0 && { required: required.map(({ column }) => column.name) }),
    properties: Object.fromEntries(properties),
    ...(table.primaryKey.length > 0 && { 'x-primary-key': table.primaryKey }),
    ...(relationships.length > 0 && { 'x-relationships': relationships.map(relationshipFacts) }),
  };
}

function columnSchema(
  { column, isReadable, isInsertable, isUpdatable }: ShownColumn,
  notes: readonly string[],
  context: TypeContext,
): JsonSchema {
  const type = typeSchema(column.type, context);
  const schema = column.isNotNull ? type : nullable(type);
  const text = [column.comment ?? [], notes.length > 0 ? ['Note:', ...notes].join('\n') : []].flat();
  return {
    ...schema,
    ...(text.length > 0 && { description: text.join('\n\n') }),
    ...(column.defaultSql !== undefined && defaultOf(column.defaultSql, type['type'])),
    ...(column.identity !== undefined && { 'x-pg-identity': column.identity }),
    ...(!isInsertable && !isUpdatable && { readOnly: true }),
    ...(!isReadable && { writeOnly: true }),
  };
}

/** Notes on keys in PostgREST's words, which tools search for. */
function notesOf(
  column: string,
  { key, relationships }: { key: readonly string[]; relationships: readonly Relationship[] },
): string[] {
  const foreign = relationships.filter(
    ({ owns, pairs }) => owns && pairs.length === 1 && pairs[0]?.[0] === column,
  );
  const relationship = foreign.find(({ target }) => target.isView !== true) ?? foreign[0];
  const [, there = ''] = relationship?.pairs[0] ?? [];
  const { name = '' } = relationship?.target ?? {};
  return [
    ...(key.includes(column) ? ['This is a Primary Key.<pk/>'] : []),
    ...(relationship
      ? [`This is a Foreign Key to \`${name}.${there}\`.<fk table='${name}' column='${there}'/>`]
      : []),
  ];
}

function relationshipFacts({ target, cardinality, constraint, pairs, junction }: Relationship) {
  return {
    target: target.name,
    cardinality,
    constraint,
    columns: pairs,
    ...(junction && {
      junction: { table: junction.table.name, constraint: junction.constraint, columns: junction.pairs },
    }),
  };
}

/** The schema of a new row; columns without a default that must not be null are required. */
function insertSchema(shown: ShownTable, context: TypeContext): JsonSchema {
  const columns = shown.columns.filter(({ isInsertable }) => isInsertable);
  const nested = nestedMembers(shown.table, context);
  const filled = new Set(nested.flatMap((member) => member.fills));
  const required = columns.filter(
    ({ column: { name, isNotNull, defaultSql } }) =>
      isNotNull && defaultSql === undefined && !filled.has(name),
  );
  const isSameAsUpdate =
    shown.methods.patch && shown.columns.every((column) => column.isInsertable === column.isUpdatable);
  return {
    ...(isSameAsUpdate
      ? reference('schemas', `${componentName(shown.table.name)}.update`)
      : bodySchema(columns, shown, context)),
    ...(required.length > 0 && { required: required.map(({ column }) => column.name) }),
    ...nestedProperties(nested),
  };
}

/** The members of new rows that are rows of related tables; beside a reference, they add to its properties. */
function nestedProperties(members: readonly NestedMember[]): JsonSchema {
  if (members.length === 0) return {};
  const properties = members.map(({ name, target, isOne }) => {
    const row = reference('schemas', `${componentName(target.name)}.insert`);
    return [name, isOne ? row : { type: 'array', items: row }] as const;
  });
  return { allOf: [{ properties: Object.fromEntries(properties) }] };
}

function updateSchema(shown: ShownTable, context: TypeContext): JsonSchema {
  const columns = shown.columns.filter(({ isUpdatable }) => isUpdatable);
  return bodySchema(columns, shown, context);
}

function bodySchema(
  columns: readonly ShownColumn[],
  { table }: ShownTable,
  context: TypeContext,
): JsonSchema {
  const component = componentName(table.name);
  const properties = columns.map((shown) => {
    const { name } = shown.column;
    return [name, propertyReference(component, name) ?? columnSchema(shown, [], context)] as const;
  });
  return { type: 'object', properties: Object.fromEntries(properties) };
}

/** A member of new rows that holds rows of a related table. */
interface NestedMember {
  readonly name: string;
  readonly target: Table;
  /** It is one row; otherwise it is a list. */
  readonly isOne: boolean;
  /** The columns of the outer row that get their values from it. */
  readonly fills: readonly string[];
  /** The columns of its rows that get their values from the outer row. */
  readonly filled: readonly string[];
}

/** The context of nested rows. */
interface NestingScope {
  readonly known: Schema;
  /** Returns whether rows of a table may be in others; absent without `dbrest_nested_insert`. */
  readonly nests?: ((schema: string, table: string) => boolean) | undefined;
}

/** The members of new rows of a table that hold rows of related tables. A name that is a column is no such member. */
export function nestedMembers(table: Table, { known, nests }: NestingScope): readonly NestedMember[] {
  if (!nests || table.isView) return [];
  const direct = relationshipsOf(table, known).filter(
    ({ junction, target }) => !junction && !target.isView && nests(target.schema, target.name),
  );
  return direct.map((one) => memberOf(one, direct)).filter(({ name }) => !table.columns.has(name));
}

function memberOf(relationship: Relationship, all: readonly Relationship[]): NestedMember {
  const { target, owns, cardinality, pairs } = relationship;
  return {
    name: nameOf(relationship, all),
    target,
    isOne: owns || cardinality === 'one-to-one',
    fills: owns ? pairs.map(([here]) => here) : [],
    filled: owns ? [] : pairs.map(([, there]) => there),
  };
}

/** The name of a member: the table, with the key as a hint if there are several. */
function nameOf({ target, constraint, isSelf, owns }: Relationship, all: readonly Relationship[]): string {
  if (isSelf && owns) return constraint;
  const isOnly = all.filter((one) => one.target === target).length === 1 || isSelf;
  return isOnly ? target.name : `${target.name}!${constraint}`;
}
