import { nestedMembers, type ShownTable } from '../openapi/index.ts';
import {
  type Column,
  qualifiedName,
  type Relationship,
  relationshipsOf,
  type Schema,
  type Table,
} from '../schema/index.ts';
import {
  byName,
  order,
  type TypedColumn,
  type TypedField,
  type TypedNested,
  type TypedRelation,
  type TypedRelationship,
  type TypeScope,
  valueType,
} from './api-types.ts';

/** Base tables by object id. */
type BaseTables = ReadonlyMap<string, Table>;

/** The base tables of all schemas. */
export function baseTables({ tables }: Schema): BaseTables {
  const found = new Map<string, Table>();
  for (const siblings of tables.values()) {
    for (const table of siblings.values()) {
      const [own] = table.bases ?? [];
      if (table.isView !== true && own) found.set(own.base, table);
    }
  }
  return found;
}

/** The types of a table or view, limited to what a role may do. */
export function typedRelation(shown: ShownTable, scope: TypeScope, bases: BaseTables): TypedRelation {
  const { table } = shown;
  const isWritable = table.isView !== true || shown.methods.post || shown.methods.patch;
  const isFixed = fixedColumns(table, bases);
  const nested = typedNested(shown, scope);
  const filled = new Set(nested.flatMap(({ fills }) => fills));
  const columns = shown.columns.map((column) => typedColumn(column, { table, scope, isFixed, filled }));
  return {
    name: table.name,
    columns: columns.sort(byName),
    computed: computedFields(table, scope).sort(byName),
    relationships: relationshipsOf(table, scope.known)
      .filter(({ owns, junction, target }) => owns && !junction && scope.shows(target))
      .map(typedRelationship)
      .sort(byKey),
    ...(nested.length > 0 && { nested: nested.map(({ member }) => member).sort(byName) }),
    isWritable,
  };
}

/** The members of new rows that hold others, and the columns that get their values from these. */
function typedNested(
  { table, methods }: ShownTable,
  { known, takes }: TypeScope,
): { readonly member: TypedNested; readonly fills: readonly string[] }[] {
  if (!methods.post) return [];
  const nests = (schema: string, name: string): boolean => {
    const target = known.tables.get(schema)?.get(name);
    return schema === table.schema && target !== undefined && takes(target);
  };
  return nestedMembers(table, { known, nests }).map(({ name, target, isOne, filled, fills }) => ({
    member: { name, table: target.name, isOne, filled },
    fills,
  }));
}

/** The input for the types of columns; `filled`: the columns that nested rows may fill in. */
interface ColumnScope {
  readonly table: Table;
  readonly scope: TypeScope;
  readonly isFixed: (name: string) => boolean;
  readonly filled: ReadonlySet<string>;
}

function typedColumn(
  { column, isReadable, isInsertable, isUpdatable }: ShownTable['columns'][number],
  { table, scope, isFixed, filled }: ColumnScope,
): TypedColumn {
  const { name, type, isNotNull = false, defaultSql } = column;
  const isOptional = table.isView === true || !isNotNull || defaultSql !== undefined || filled.has(name);
  const isWritable = !isFixed(name);
  return {
    name,
    // A domain may have a representation in JSON of its own (PostgREST, "Domain Representations").
    type: scope.known.representations?.get(type)?.shown ? 'Json' : valueType(type, scope),
    isNullable: !isNotNull,
    isReadable,
    insert: (isInsertable && isWritable && (isOptional ? 'optional' : 'required')) || 'never',
    update: isUpdatable && isWritable ? 'optional' : 'never',
  };
}

/**
 * Returns the test for columns of a view that cannot be written although the view can: expressions, and columns that
 * are always generated in the base table.
 */
function fixedColumns(view: Table, bases: BaseTables): (name: string) => boolean {
  if (view.isView !== true || view.access?.isReplaced) return () => false;
  const writable = new Set<string>();
  for (const { base, columns } of view.bases ?? []) {
    for (const [name, shownAs] of columns ?? []) {
      const column = bases.get(base)?.columns.get(name);
      if (column && !isGenerated(column)) for (const own of shownAs) writable.add(own);
    }
  }
  return (name) => !writable.has(name);
}

function isGenerated({ isGenerated: isComputed, identity }: Column): boolean {
  return isComputed === true || identity === 'always';
}

/**
 * Functions of a row in the schema of the table that return a value. Those with a named argument are left out, because
 * the client would take their values for columns that `*` returns; those that return rows are embedded.
 */
function computedFields(table: Table, scope: TypeScope): TypedField[] {
  return (table.functions ?? [])
    .filter((one) => !one.returnsSet && !one.returns && isUnnamed(one, table, scope.known))
    .filter(({ name }) => !table.columns.has(name))
    .map(({ name, type }) => ({ name, type: valueType(type, scope), isNullable: true }));
}

/** True if the function takes the row of the table as an argument without a name, so that only `select` can call it. */
export function isUnnamed(
  { schema, name }: { readonly schema: string; readonly name: string },
  table: Table,
  known: Schema,
): boolean {
  if (schema !== table.schema) return false;
  const overloads = known.functions?.get(schema)?.get(name) ?? [];
  return !overloads.some((one) => rowOf(one.arguments[0]?.type, known) === table);
}

/** The table or view of a row type; `undefined` for another type. */
export function rowOf(type: string | undefined, { tables }: Schema): Table | undefined {
  const named = type === undefined ? undefined : qualifiedName(type);
  return named && tables.get(named.schema)?.get(named.name);
}

function typedRelationship({ constraint, cardinality, target, pairs }: Relationship): TypedRelationship {
  return {
    foreignKeyName: constraint,
    columns: pairs.map(([column]) => column),
    isOneToOne: cardinality === 'one-to-one',
    referencedRelation: target.name,
    referencedColumns: pairs.map(([, column]) => column),
  };
}

function byKey(a: TypedRelationship, b: TypedRelationship): number {
  return (
    order(a.foreignKeyName, b.foreignKeyName) ||
    order(a.referencedRelation, b.referencedRelation) ||
    order(JSON.stringify([a.columns, a.referencedColumns]), JSON.stringify([b.columns, b.referencedColumns]))
  );
}
