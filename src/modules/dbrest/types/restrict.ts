import type { ApiTypes, TypedFunction, TypedRelation, TypedSchema, ValueType } from './api-types.ts';

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
