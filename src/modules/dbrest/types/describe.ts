import { callable, type Overloads, type ShownTable, showTable } from '../openapi/index.ts';
import { qualifiedName, type Rights, type Schema, type Table } from '../schema/index.ts';
import type { ApiTypes, TypedFunction, TypedRelation, TypedSchema } from './api-types.ts';
import { rowFunctions, typedFunctions } from './functions.ts';
import { baseTables, typedRelation } from './relations.ts';
import { byName, type TypeScope, valueType } from './value-type.ts';

/** The input of a description. */
interface TypesSubject {
  readonly known: Schema;
  /** In the order of `dbrest_schemas`. */
  readonly schemas: readonly string[];
  readonly rights: Rights;
  /** New rows may have rows of related tables in them (`dbrest_nested_insert`). */
  readonly nests: boolean;
}

/**
 * Describes the types of schemas, limited to what a role may use. Yields after each table and function, because a database
 * may have thousands.
 */
export function* describeTypes({
  known,
  schemas,
  rights,
  nests,
}: TypesSubject): Generator<undefined, ApiTypes> {
  const shown = new Map<Table, ShownTable>();
  const usable = new Set(schemas.filter((name) => rights.usesSchema(name)));
  for (const name of usable) {
    for (const table of known.tables.get(name)?.values() ?? []) {
      for (const one of showTable(table, rights)) shown.set(table, one);
      yield;
    }
  }
  const takes = (table: Table): boolean => nests && shown.get(table)?.methods.post === true;
  const scope: TypeScope = { known, schemas: usable, shows: (table) => shown.has(table), takes };
  const described: TypedSchema[] = [];
  for (const name of schemas) {
    const tables = Array.from(shown.values()).filter(({ table }) => table.schema === name);
    const overloads = usable.has(name) ? callable(known.functions?.get(name), rights) : [];
    described.push({ ...(yield* schemaTypes({ tables, overloads }, scope)), name, ...typesOf(name, scope) });
  }
  return { schemas: described };
}

/** The tables, views and functions of a schema. */
function* schemaTypes(
  subject: { readonly tables: readonly ShownTable[]; readonly overloads: readonly Overloads[] },
  scope: TypeScope,
): Generator<undefined, Pick<TypedSchema, 'tables' | 'views' | 'functions'>> {
  const bases = baseTables(scope.known);
  const [tables, views]: [TypedRelation[], TypedRelation[]] = [[], []];
  const functions: TypedFunction[] = [];
  for (const shown of subject.tables) {
    (shown.table.isView ? views : tables).push(typedRelation(shown, scope, bases));
    functions.push(...rowFunctions(shown.table, scope));
    yield;
  }
  for (const overloads of subject.overloads) {
    functions.push(...typedFunctions(overloads, scope));
    yield;
  }
  // The sort keeps the order of overloads.
  return { tables: tables.sort(byName), views: views.sort(byName), functions: functions.sort(byName) };
}

/** Writes the types as JSON; yields as `describeTypes` does, and after each piece of text. */
export function* writeTypes(subject: TypesSubject): Generator<undefined, Buffer> {
  const { schemas } = yield* describeTypes(subject);
  const pieces: Buffer[] = [];
  let text = '{"schemas":[';
  for (const [i, { name, ...parts }] of schemas.entries()) {
    text += `${i === 0 ? '' : ','}{"name":${JSON.stringify(name)}`;
    for (const [part, items] of Object.entries<readonly object[]>(parts)) {
      text += `,${JSON.stringify(part)}:[`;
      for (const [at, item] of items.entries()) {
        pieces.push(Buffer.from(`${text}${at === 0 ? '' : ','}${JSON.stringify(item)}`));
        text = '';
        yield;
      }
      text += ']';
    }
    text += '}';
  }
  return Buffer.concat([...pieces, Buffer.from(`${text}]}`)]);
}

/** The enums and composite types of a schema. */
function typesOf(schema: string, scope: TypeScope): Pick<TypedSchema, 'enums' | 'composites'> {
  const enums: { name: string; labels: readonly string[] }[] = [];
  const composites: { name: string; fields: TypedSchema['composites'][number]['fields'] }[] = [];
  for (const [type, shape] of scope.known.shapes ?? []) {
    const named = qualifiedName(type);
    if (named?.schema !== schema || !scope.schemas.has(schema)) continue;
    const { name } = named;
    if (shape.kind === 'enum') enums.push({ name, labels: shape.labels });
    if (shape.kind !== 'composite') continue;
    const fields = shape.fields.map(([field, of]) => ({
      name: field,
      type: valueType(of, scope),
      isNullable: true,
    }));
    composites.push({ name, fields: fields.sort(byName) });
  }
  return { enums: enums.sort(byName), composites: composites.sort(byName) };
}
