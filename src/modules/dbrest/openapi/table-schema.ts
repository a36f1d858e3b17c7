import type { Relationship } from '../schema/index.ts';
import { relationshipsOf } from '../schema/index.ts';
import { defaultOf } from './default-value.ts';
import { componentName, propertyReference, reference } from './names.ts';
import type { ShownColumn, ShownTable } from './shown-table.ts';
import type { JsonSchema, TypeContext } from './type-schema.ts';
import { nullable, typeSchema } from './type-schema.ts';

/** The schemas of one table's rows: as they are read, and as they are written where that is possible. */
export function tableSchemas(shown: ShownTable, context: TypeContext): readonly [name: string, JsonSchema][] {
  const name = componentName(shown.table.name);
  const { post, patch } = shown.methods;
  return [
    [name, rowSchema(shown, context)],
    ...(post ? [[`${name}.insert`, insertSchema(shown, context)] as [string, JsonSchema]] : []),
    ...(patch ? [[`${name}.update`, updateSchema(shown, context)] as [string, JsonSchema]] : []),
  ];
}

/** A whole row. A request that selects columns gets fewer, one that embeds gets more. */
function rowSchema({ table, columns }: ShownTable, context: TypeContext): JsonSchema {
  const ways = relationshipsOf(table, context.known).filter(({ target }) =>
    context.hasComponent(target.schema, target.name),
  );
  const required = columns.filter(({ column, isReadable }) => isReadable && column.isNotNull === true);
  const properties = columns.map((shown) => {
    const { name } = shown.column;
    const notes = notesOf(name, { key: table.primaryKey, ways });
    return [name, columnSchema(shown, notes, context)] as const;
  });
  return {
    type: 'object',
    ...(table.comment !== undefined && { description: table.comment }),
    ...(required.length > 0 && { required: required.map(({ column }) => column.name) }),
    properties: Object.fromEntries(properties),
    ...(table.primaryKey.length > 0 && { 'x-primary-key': table.primaryKey }),
    ...(ways.length > 0 && { 'x-relationships': ways.map(relationshipFacts) }),
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

/** In PostgREST's words, which tools look for. */
function notesOf(
  column: string,
  { key, ways }: { key: readonly string[]; ways: readonly Relationship[] },
): string[] {
  const foreign = ways.filter(({ owns, pairs }) => owns && pairs.length === 1 && pairs[0]?.[0] === column);
  const way = foreign.find(({ target }) => target.isView !== true) ?? foreign[0];
  const [, there = ''] = way?.pairs[0] ?? [];
  const { name = '' } = way?.target ?? {};
  return [
    ...(key.includes(column) ? ['This is a Primary Key.<pk/>'] : []),
    ...(way ? [`This is a Foreign Key to \`${name}.${there}\`.<fk table='${name}' column='${there}'/>`] : []),
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

/** A new row: what has neither a value nor a default, and may not be null, has to be given. */
function insertSchema(shown: ShownTable, context: TypeContext): JsonSchema {
  const columns = shown.columns.filter(({ isInsertable }) => isInsertable);
  const required = columns.filter(
    ({ column }) => column.isNotNull === true && column.defaultSql === undefined,
  );
  const isSameAsUpdate =
    shown.methods.patch && shown.columns.every((column) => column.isInsertable === column.isUpdatable);
  return {
    ...(isSameAsUpdate
      ? reference('schemas', `${componentName(shown.table.name)}.update`)
      : bodySchema(columns, shown, context)),
    ...(required.length > 0 && { required: required.map(({ column }) => column.name) }),
  };
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
