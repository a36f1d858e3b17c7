import {
  type ApiTypes,
  order,
  type TypedColumn,
  type TypedField,
  type TypedFunction,
  type TypedNested,
  type TypedRelation,
  type TypedRelationship,
  type TypedResult,
  type TypedSchema,
  type ValueType,
} from './api-types.ts';
import { block, inline, type Layout, literal, type Member, memberName, print } from './layout.ts';

/** The version of PostgREST from which supabase-js offers all that gw has. */
const POSTGREST_VERSION = '14';

const JSON_TYPE = `export type Json =
  | string
  | number
  | boolean
  | null
  | { [key: string]: Json | undefined }
  | Json[]
`;

/** Writes the file that `createClient<Database>()` of supabase-js takes. Always the same for the same types. */
export function typescriptOf({ schemas }: ApiTypes): string {
  const sorted = [...schemas].sort((a, b) => order(a.name, b.name));
  const known = schemas.find(({ name }) => name === 'public') ?? schemas[0];
  const version = block([{ key: 'PostgrestVersion', value: literal(POSTGREST_VERSION) }]);
  const database = block([
    { key: '__InternalSupabase', value: version },
    ...sorted.map((schema) => ({ key: memberName(schema.name), value: schemaLayout(schema) })),
  ]);
  const constants = block(sorted.map(({ name, enums }) => named(name, withComma(enumValues(enums)))));
  return [
    JSON_TYPE,
    `${print(database, 'export type Database = ', '')}\n`,
    SHORTHANDS.replace('"public"', () => literal(known?.name ?? 'public')),
    `${print(constants, 'export const Constants = ', '')} as const\n`,
  ].join('\n');
}

function schemaLayout(schema: TypedSchema): Layout {
  const { tables, views, functions, enums, composites } = schema;
  return block([
    part(
      'Tables',
      tables.map((table) => named(table.name, tableLayout(table, schema.name))),
    ),
    part(
      'Views',
      views.map((view) => named(view.name, viewLayout(view, schema.name))),
    ),
    part('Functions', functionMembers(functions)),
    part(
      'Enums',
      enums.map(({ name, labels }) => named(name, labelsLayout(labels))),
    ),
    part(
      'CompositeTypes',
      composites.map(({ name, fields }) => named(name, block(fields.map(fieldMember)))),
    ),
  ]);
}

function named(name: string, value: Layout): Member {
  return { key: memberName(name), value };
}

/** A part of a schema; an empty one is an object without members. */
function part(key: string, list: readonly Member[]): Member {
  return { key, value: block(list.length > 0 ? list : [{ key: '[_ in never]', value: 'never' }]) };
}

function tableLayout(table: TypedRelation, schema: string): Layout {
  const { columns, computed, relationships, nested = [] } = table;
  const members = nested.map((one) => nestedMember(one, schema));
  const readable = columns.filter(({ isReadable }) => isReadable);
  return block([
    { key: 'Row', value: block([...readable, ...computed].map(fieldMember)) },
    {
      key: 'Insert',
      value: block([...columns.map((column) => writtenMember(column, column.insert)), ...members]),
    },
    { key: 'Update', value: block(columns.map((column) => writtenMember(column, column.update))) },
    { key: 'Relationships', value: { kind: 'list', items: relationships.map(relationshipLayout) } },
  ]);
}

function viewLayout(view: TypedRelation, schema: string): Layout {
  const whole = tableLayout(view, schema);
  if (view.isWritable || typeof whole === 'string' || whole.kind !== 'object') return whole;
  return block(whole.members.filter(({ key }) => key === 'Row' || key === 'Relationships'));
}

function fieldMember({ name, type, isNullable }: TypedField): Member {
  return { key: memberName(name), value: orNull(typeLayout(type), isNullable) };
}

function writtenMember(
  { name, type, isNullable }: TypedColumn,
  how: TypedColumn['insert'] | TypedColumn['update'],
): Member {
  if (how === 'never') return { key: `${memberName(name)}?`, value: 'never' };
  const key = how === 'optional' ? `${memberName(name)}?` : memberName(name);
  return { key, value: orNull(typeLayout(type), isNullable) };
}

/** New rows in the member of another one: without the columns that they get from it. */
function nestedMember({ name, table, isOne, filled }: TypedNested, schema: string): Member {
  const path = [schema, 'Tables', table, 'Insert'].map((one) => `[${JSON.stringify(one)}]`).join('');
  const keys = filled.map(literal).join(' | ');
  const row = `Database${path}`;
  const suffix = isOne ? '' : '[]';
  const value: Layout =
    filled.length === 0 ? row + suffix : { kind: 'generic', name: 'Omit', arguments: [row, keys], suffix };
  return { key: `${memberName(name)}?`, value };
}

function orNull(type: Layout, isNullable: boolean): Layout {
  if (!isNullable || type === 'unknown') return type;
  const parts = typeof type === 'object' && type.kind === 'union' ? type.parts : [type];
  return { kind: 'union', parts: [...parts, 'null'] };
}

/** The type of a value; a union, if it is one, has parts. */
function typeLayout(type: ValueType): Layout {
  if (type === 'record') return 'Record<string, unknown>';
  if (typeof type === 'string') return type;
  if ('labels' in type) return labelsLayout(type.labels);
  if ('arrayOf' in type) {
    const of = typeLayout(type.arrayOf);
    const isUnion = typeof of === 'object' && of.kind === 'union';
    return { kind: 'suffixed', of: isUnion ? `(${print(of, '', '')})` : of, suffix: '[]' };
  }
  const path = [type.schema, PART[type.named], type.name].map((name) => `[${JSON.stringify(name)}]`).join('');
  return `Database${path}${type.named === 'table' || type.named === 'view' ? '["Row"]' : ''}`;
}

/** An enum without labels has no values. */
function labelsLayout(labels: readonly string[]): Layout {
  return labels.length === 0 ? 'never' : { kind: 'union', parts: labels.map(literal) };
}

const PART = { enum: 'Enums', composite: 'CompositeTypes', table: 'Tables', view: 'Views' } as const;

function relationshipLayout(relationship: TypedRelationship): Layout {
  const names = (list: readonly string[]): Layout => ({ kind: 'list', items: list.map(literal) });
  return block([
    { key: 'foreignKeyName', value: literal(relationship.foreignKeyName) },
    { key: 'columns', value: names(relationship.columns) },
    { key: 'isOneToOne', value: String(relationship.isOneToOne) },
    { key: 'referencedRelation', value: literal(relationship.referencedRelation) },
    { key: 'referencedColumns', value: names(relationship.referencedColumns) },
  ]);
}

function functionMembers(functions: readonly TypedFunction[]): readonly Member[] {
  const byName = new Map<string, Layout[]>();
  for (const one of functions) {
    const known = byName.get(one.name);
    if (known) known.push(functionLayout(one));
    else byName.set(one.name, [functionLayout(one)]);
  }
  return Array.from(byName, ([name, parts]) =>
    named(name, parts.length === 1 ? (parts[0] as Layout) : { kind: 'union', parts }),
  );
}

function functionLayout({ arguments: given, returns, rows, fault }: TypedFunction): Layout {
  const args = given.map(({ name, type, isOptional }) => ({
    key: memberName(name) + (isOptional ? '?' : ''),
    value: typeLayout(type),
  }));
  const options: readonly Member[] = rows
    ? [
        { key: 'from', value: literal(rows.from) },
        { key: 'to', value: literal(rows.to) },
        { key: 'isOneToOne', value: String(rows.isOneToOne) },
        { key: 'isSetofReturn', value: String(rows.isSetofReturn) },
      ]
    : [];
  const isSingle = rows?.isOneToOne === true;
  return inline([
    { key: 'Args', value: args.length === 0 ? 'never' : inline(args) },
    { key: 'Returns', value: fault === undefined ? resultLayout(returns, isSingle) : faultLayout(fault) },
    ...(rows ? [{ key: 'SetofOptions', value: block(options) }] : []),
  ]);
}

/** The type of a result. At most one row is typed as one row; the client makes it a list where it returns one. */
function resultLayout({ isSet, of }: TypedResult, isSingle: boolean): Layout {
  const one = typeof of === 'object' && 'fields' in of ? block(of.fields.map(fieldMember)) : typeLayout(of);
  if (!isSet || isSingle) return one;
  const isUnion = typeof one === 'object' && one.kind === 'union';
  return { kind: 'suffixed', of: isUnion ? `(${print(one, '', '')})` : one, suffix: '[]' };
}

/** A type that no value has; the client shows its text as an error. */
function faultLayout(fault: string): Layout {
  const mark = block([{ key: 'error', value: 'true' }]);
  return { kind: 'suffixed', of: mark, suffix: ` & ${literal(fault)}` };
}

function enumValues(enums: TypedSchema['enums']): Layout {
  const lists = enums.map(({ name, labels }) =>
    named(name, withComma({ kind: 'list', items: labels.map(literal) })),
  );
  return block([{ key: 'Enums', value: withComma(block(lists)) }]);
}

/** Members of a value, unlike those of a type, end with commas. */
function withComma(value: Layout): Layout {
  return { kind: 'suffixed', of: value, suffix: ',' };
}

/** Types that shorten the use of `Database`, as applications import them; the first line names the default schema. */
const SHORTHANDS = `type DefaultSchemaName = "public"

type Schemas = Omit<Database, "__InternalSupabase">

type InSchema = { schema: keyof Schemas }

type Relations<S extends keyof Schemas> = Schemas[S]["Tables"] &
  Schemas[S]["Views"]

export type Tables<
  Table extends keyof Relations<DefaultSchemaName> | InSchema,
  Name extends (Table extends InSchema
    ? keyof Relations<Table["schema"]>
    : never) = never,
> = (
  Table extends InSchema
    ? Relations<Table["schema"]>[Name]
    : Table extends keyof Relations<DefaultSchemaName>
      ? Relations<DefaultSchemaName>[Table]
      : never
) extends { Row: infer Row }
  ? Row
  : never

export type TablesInsert<
  Table extends keyof Schemas[DefaultSchemaName]["Tables"] | InSchema,
  Name extends (Table extends InSchema
    ? keyof Schemas[Table["schema"]]["Tables"]
    : never) = never,
> = (
  Table extends InSchema
    ? Schemas[Table["schema"]]["Tables"][Name]
    : Table extends keyof Schemas[DefaultSchemaName]["Tables"]
      ? Schemas[DefaultSchemaName]["Tables"][Table]
      : never
) extends { Insert: infer Insert }
  ? Insert
  : never

export type TablesUpdate<
  Table extends keyof Schemas[DefaultSchemaName]["Tables"] | InSchema,
  Name extends (Table extends InSchema
    ? keyof Schemas[Table["schema"]]["Tables"]
    : never) = never,
> = (
  Table extends InSchema
    ? Schemas[Table["schema"]]["Tables"][Name]
    : Table extends keyof Schemas[DefaultSchemaName]["Tables"]
      ? Schemas[DefaultSchemaName]["Tables"][Table]
      : never
) extends { Update: infer Update }
  ? Update
  : never

export type Enums<
  Enum extends keyof Schemas[DefaultSchemaName]["Enums"] | InSchema,
  Name extends (Enum extends InSchema
    ? keyof Schemas[Enum["schema"]]["Enums"]
    : never) = never,
> = Enum extends InSchema
  ? Schemas[Enum["schema"]]["Enums"][Name]
  : Enum extends keyof Schemas[DefaultSchemaName]["Enums"]
    ? Schemas[DefaultSchemaName]["Enums"][Enum]
    : never

export type CompositeTypes<
  Composite extends
    keyof Schemas[DefaultSchemaName]["CompositeTypes"] | InSchema,
  Name extends (Composite extends InSchema
    ? keyof Schemas[Composite["schema"]]["CompositeTypes"]
    : never) = never,
> = Composite extends InSchema
  ? Schemas[Composite["schema"]]["CompositeTypes"][Name]
  : Composite extends keyof Schemas[DefaultSchemaName]["CompositeTypes"]
    ? Schemas[DefaultSchemaName]["CompositeTypes"][Composite]
    : never
`;
