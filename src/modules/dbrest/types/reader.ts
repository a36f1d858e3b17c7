import type {
  ApiTypes,
  TypedColumn,
  TypedField,
  TypedFunction,
  TypedNested,
  TypedRelation,
  TypedSchema,
  ValueType,
} from './api-types.ts';

/** Checks a value of foreign JSON and returns it without members that are not known. Throws `Unreadable`. */
type Read<T> = (value: unknown) => T;

class Unreadable extends Error {}

/** Arrays of arrays; PostgreSQL has none with more dimensions. */
const DEEPEST = 6;

const text: Read<string> = (value) => {
  if (typeof value !== 'string') throw new Unreadable();
  return value;
};

const flag: Read<boolean> = (value) => {
  if (typeof value !== 'boolean') throw new Unreadable();
  return value;
};

const list =
  <T>(read: Read<T>): Read<readonly T[]> =>
  (value) => {
    if (!Array.isArray(value)) throw new Unreadable();
    return value.map(read);
  };

const oneOf =
  <const T extends string>(...names: readonly T[]): Read<T> =>
  (value) => {
    const found = names.find((name) => name === value);
    if (found === undefined) throw new Unreadable();
    return found;
  };

const object =
  <T extends object>(readers: { readonly [K in keyof T]: Read<T[K]> }): Read<T> =>
  (value) => {
    const given = membersOf(value);
    const read = Object.entries<Read<unknown>>(readers).map(([name, of]) => [name, of(given[name])] as const);
    return Object.fromEntries(read) as T;
  };

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Unreadable();
  return value as Record<string, unknown>;
}

const plainType = oneOf('string', 'number', 'boolean', 'Json', 'unknown', 'undefined', 'record');
const namedType = object<Extract<ValueType, { named: unknown }>>({
  named: oneOf('enum', 'composite', 'table', 'view'),
  schema: text,
  name: text,
});

function readType(value: unknown, depth = 0): ValueType {
  if (typeof value === 'string') return plainType(value);
  const given = membersOf(value);
  if ('labels' in given) return { labels: list(text)(given['labels']) };
  if (!('arrayOf' in given)) return namedType(given);
  if (depth === DEEPEST) throw new Unreadable();
  return { arrayOf: readType(given['arrayOf'], depth + 1) };
}

const valueType: Read<ValueType> = (value) => readType(value);
const field = object<TypedField>({ name: text, type: valueType, isNullable: flag });

const plainRelation = object<Omit<TypedRelation, 'nested'>>({
  name: text,
  columns: list(
    object<TypedColumn>({
      name: text,
      type: valueType,
      isNullable: flag,
      isReadable: flag,
      insert: oneOf('required', 'optional', 'never'),
      update: oneOf('optional', 'never'),
    }),
  ),
  computed: list(field),
  relationships: list(
    object<TypedRelation['relationships'][number]>({
      foreignKeyName: text,
      columns: list(text),
      isOneToOne: flag,
      referencedRelation: text,
      referencedColumns: list(text),
    }),
  ),
  isWritable: flag,
});

const nested = list(object<TypedNested>({ name: text, table: text, isOne: flag, filled: list(text) }));
const relation: Read<TypedRelation> = (value) => {
  const given = membersOf(value);
  return {
    ...plainRelation(given),
    ...(given['nested'] !== undefined && { nested: nested(given['nested']) }),
  };
};

const fields = object<{ readonly fields: readonly TypedField[] }>({ fields: list(field) });
const rows = object<NonNullable<TypedFunction['rows']>>({
  from: text,
  to: text,
  isOneToOne: flag,
  isSetofReturn: flag,
});
const called = object<Omit<TypedFunction, 'rows' | 'fault'>>({
  name: text,
  arguments: list(
    object<TypedFunction['arguments'][number]>({ name: text, type: valueType, isOptional: flag }),
  ),
  returns: object<TypedFunction['returns']>({
    isSet: flag,
    of: (value) =>
      typeof value === 'object' && value && 'fields' in value ? fields(value) : valueType(value),
  }),
});

const storedFunction: Read<TypedFunction> = (value) => {
  const given = membersOf(value);
  return {
    ...called(given),
    ...(given['rows'] !== undefined && { rows: rows(given['rows']) }),
    ...(given['fault'] !== undefined && { fault: text(given['fault']) }),
  };
};

const apiTypes = object<ApiTypes>({
  schemas: list(
    object<TypedSchema>({
      name: text,
      tables: list(relation),
      views: list(relation),
      functions: list(storedFunction),
      enums: list(object<TypedSchema['enums'][number]>({ name: text, labels: list(text) })),
      composites: list(object<TypedSchema['composites'][number]>({ name: text, fields: list(field) })),
    }),
  ),
});

/** Reads the types that a gateway sends; `undefined` if the text is something else. */
export function readApiTypes(json: string): ApiTypes | undefined {
  try {
    return apiTypes(JSON.parse(json));
  } catch (error) {
    if (error instanceof Unreadable || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The types of some of the schemas; what they refer to in others is described in its place. */
export function onlySchemas({ schemas }: ApiTypes, names: readonly string[]): ApiTypes {
  const kept = schemas.filter(({ name }) => names.includes(name));
  const dropped = new Map(
    schemas.filter((schema) => !kept.includes(schema)).map((schema) => [schema.name, schema]),
  );
  if (dropped.size === 0) return { schemas };
  const typeOf = (type: ValueType): ValueType => replaced(type, dropped);
  return { schemas: kept.map((schema) => restricted(schema, typeOf, dropped)) };
}

type Dropped = ReadonlyMap<string, TypedSchema>;

function replaced(type: ValueType, dropped: Dropped): ValueType {
  if (typeof type === 'string' || 'labels' in type) return type;
  if ('arrayOf' in type) return { arrayOf: replaced(type.arrayOf, dropped) };
  const from = dropped.get(type.schema);
  if (!from) return type;
  const labels = type.named === 'enum' && from.enums.find(({ name }) => name === type.name)?.labels;
  return labels ? { labels } : 'unknown';
}

function restricted(
  schema: TypedSchema,
  typeOf: (type: ValueType) => ValueType,
  dropped: Dropped,
): TypedSchema {
  const field = <F extends { readonly type: ValueType }>(one: F): F => ({ ...one, type: typeOf(one.type) });
  const relation = (one: TypedRelation): TypedRelation => ({
    ...one,
    columns: one.columns.map(field),
    computed: one.computed.map(field),
  });
  return {
    ...schema,
    tables: schema.tables.map(relation),
    views: schema.views.map(relation),
    functions: schema.functions.map((one) => ({
      ...one,
      arguments: one.arguments.map(field),
      returns: resultOf(one.returns, field, { typeOf, dropped }),
    })),
    composites: schema.composites.map((one) => ({ ...one, fields: one.fields.map(field) })),
  };
}

/** A function that returns a composite type of another schema returns its fields. */
function resultOf(
  { isSet, of }: TypedFunction['returns'],
  field: <F extends { readonly type: ValueType }>(one: F) => F,
  { typeOf, dropped }: { readonly typeOf: (type: ValueType) => ValueType; readonly dropped: Dropped },
): TypedFunction['returns'] {
  if (typeof of === 'object' && 'fields' in of) return { isSet, of: { fields: of.fields.map(field) } };
  const composite = typeof of === 'object' && 'named' in of && of.named === 'composite' ? of : undefined;
  const fields = dropped
    .get(composite?.schema ?? '')
    ?.composites.find(({ name }) => name === composite?.name)?.fields;
  return { isSet, of: fields ? { fields: fields.map(field) } : typeOf(of as ValueType) };
}
