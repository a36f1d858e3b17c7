import { callable, type Overloads, type ShownTable, showTable } from '../openapi/index.ts';
import {
  qualifiedName,
  type Rights,
  type Schema,
  type Table,
  type RowFunction,
  type StoredFunction,
  type TableName,
} from '../schema/index.ts';
import {
  type ApiTypes,
  byName,
  order,
  type TypedFunction,
  type TypedRelation,
  type TypedResult,
  type TypedSchema,
  type TypeScope,
  valueType,
} from './api-types.ts';
import { baseTables, typedRelation, isUnnamed, rowOf } from './relations.ts';

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
 * Describes the types of schemas, limited to what a role may use. Yields after each table and function, because a
 * database may have thousands.
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

/** The types of the functions of one name. Overloads that a call cannot tell apart have a fault. */
function typedFunctions(overloads: Overloads, scope: TypeScope): readonly TypedFunction[] {
  const faults = new Map(overloads.map((one) => [one, faultOf(one, overloads)]));
  return overloads
    .map((one): TypedFunction => {
      const fault = faults.get(one);
      const rows = rowsOf(one, scope);
      return {
        name: one.name,
        arguments: one.arguments
          .map(({ name, type, required }) => ({
            name,
            type: valueType(type, scope),
            isOptional: !required,
          }))
          .sort(byName),
        returns: resultOf(one, scope),
        ...(rows && { rows }),
        ...(fault !== undefined && { fault }),
      };
    })
    .sort(byArguments);
}

/** Overloads without arguments come last, where the client looks for them. */
function byArguments(a: TypedFunction, b: TypedFunction): number {
  if ((a.arguments.length === 0) !== (b.arguments.length === 0)) return a.arguments.length === 0 ? 1 : -1;
  return order(JSON.stringify(a.arguments), JSON.stringify(b.arguments));
}

function resultOf({ returns, returnsSet: isSet }: StoredFunction, scope: TypeScope): TypedResult {
  switch (returns.kind) {
    case 'void':
      return { isSet: false, of: 'undefined' };
    case 'scalar':
      return { isSet, of: valueType(returns.type, scope) };
    case 'table':
      return { isSet, of: rowResult(returns.table, scope) };
    case 'columns': {
      const composite = returns.type === undefined ? 'unknown' : valueType(returns.type, scope);
      if (composite !== 'unknown') return { isSet, of: composite };
      // Columns of a `table` result are never declared to be null or not.
      const isNullable = returns.type !== undefined;
      const fields = returns.columns.map(({ name, type }) => ({
        name,
        type: valueType(type, scope),
        isNullable,
      }));
      return { isSet, of: { fields: fields.sort(byName) } };
    }
  }
}

function rowResult({ schema, name }: Pick<Table, 'schema' | 'name'>, scope: TypeScope): TypedResult['of'] {
  const table = scope.known.tables.get(schema)?.get(name);
  const fields = Array.from(table?.columns.values() ?? [], ({ name: column, type, isNotNull = false }) => ({
    name: column,
    type: valueType(type, scope),
    isNullable: !isNotNull,
  }));
  return { fields: fields.sort(byName) };
}

/** The row types that a function takes and returns, if it returns rows of a table, view or composite type. */
function rowsOf(
  { returns, returnsSet, isOneRow, arguments: given, schema }: StoredFunction,
  { known }: TypeScope,
): TypedFunction['rows'] {
  // A name of another schema could be taken for that of a table here.
  const to = rowTypeName(returns);
  if (to?.schema !== schema) return undefined;
  const taken =
    given.filter(({ required }) => required).length <= 1 ? rowOf(given[0]?.type, known) : undefined;
  return {
    from: taken?.schema === schema ? taken.name : '*',
    to: to.name,
    isOneToOne: !returnsSet || isOneRow === true,
    isSetofReturn: returnsSet,
  };
}

function rowTypeName(returns: StoredFunction['returns']): TableName | undefined {
  if (returns.kind === 'table') return returns.table;
  return returns.kind === 'columns' && returns.type !== undefined ? qualifiedName(returns.type) : undefined;
}

/**
 * The functions of a row of this table whose argument has no name. Only `select` can call them; the client needs their
 * types to tell them from columns.
 */
function rowFunctions(table: Table, scope: TypeScope): readonly TypedFunction[] {
  const unnamed = (table.functions ?? []).filter((one) => isUnnamed(one, table, scope.known));
  return unnamed.map((one) => rowFunction(one, table, scope));
}

function rowFunction(one: RowFunction, { schema, name, isView }: Table, scope: TypeScope): TypedFunction {
  const { returnsSet: isSet, single: isOneToOne, returns } = one;
  const row = { named: isView ? ('view' as const) : ('table' as const), schema, name };
  return {
    name: one.name,
    arguments: [{ name: '', type: row, isOptional: false }],
    returns: { isSet, of: returns ? rowResult(returns, scope) : valueType(one.type, scope) },
    ...(returns?.schema === schema && {
      rows: { from: name, to: returns.name, isOneToOne, isSetofReturn: isSet },
    }),
    ...(!returns && {
      fault: `the function ${schema}.${one.name} with parameter or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache`,
    }),
  };
}

/** The message for an overload of which a call with all its arguments could mean another one. */
function faultOf(one: StoredFunction, overloads: Overloads): string | undefined {
  const rivals = overloads.filter((other) => other !== one && takesSame(one, other));
  if (rivals.length === 0) return undefined;
  const shown = [one, ...rivals].map(signature).sort(order).join(', ');
  return `Could not choose the best candidate function between: ${shown}. Try renaming the parameters or the function itself in the database so function overloading can be resolved`;
}

function takesSame({ arguments: given }: StoredFunction, { arguments: others }: StoredFunction): boolean {
  const names = new Set(given.map(({ name }) => name));
  const isKnown = given.every(({ name }) => others.some((other) => other.name === name));
  return isKnown && others.every(({ name, required }) => names.has(name) || !required);
}

function signature({ schema, name, arguments: given }: StoredFunction): string {
  return `${schema}.${name}(${given.map((each) => `${each.name} => ${each.type}`).join(', ')})`;
}
