import { type DbrestFault, noColumn, noType, type TakenFor } from '../fault/index.ts';
import { AGGREGATES, type Field, type JsonStep, type TypeName } from '../request/index.ts';
import {
  type Column,
  rightsOf,
  type RowFunction,
  type Schema,
  similarColumns,
  type Table,
} from '../schema/index.ts';
import type { Aggregation, Context, Output, Value, Cast } from './node.ts';

/** A field, and the names that it may have been confused with if there is no such column. */
interface NamedField extends Field {
  readonly instead?: TakenFor | undefined;
}

/** Plans a field: a column, else a computed column. Throws 42703. */
export function planValue(
  { column: name, path = [], instead }: NamedField,
  table: Table,
  context: Context,
): Value {
  const column = table.columns.get(name);
  if (column) return { of: { kind: 'column', column }, path, type: typeBelow(column.type, path) };
  const call = rowFunctions(table, name, context).find(({ returnsSet }) => !returnsSet);
  if (!call) throw unknownColumn({ name, instead }, table, context);
  return { of: { kind: 'computed', call }, path, type: typeBelow(call.type, path) };
}

/** 42703. Columns of a table are suggested if the role may use them; results of functions or writes need no right. */
export function unknownColumn(
  { name, instead }: { readonly name: string; readonly instead: TakenFor | undefined },
  table: Table,
  { role, known, isDerived }: Pick<Context, 'role' | 'known' | 'isDerived'>,
): DbrestFault {
  const rights = isDerived ? undefined : rightsOf(role, known);
  return noColumn(table.name, name, { similar: similarColumns(name, table, rights), instead });
}

/** The row functions of a name in the search path, nearest first. */
export function rowFunctions(
  table: Table,
  name: string,
  { schema, searchPath = [schema] }: Context,
): RowFunction[] {
  const named = table.functions?.filter((call) => call.name === name) ?? [];
  if (named.length === 0) return [];
  return [...new Set(searchPath)].flatMap((near) => named.filter((call) => call.schema === near));
}

function typeBelow(type: string, path: readonly JsonStep[]): string {
  const last = path.at(-1);
  if (!last) return type;
  if (last.arrow === '->>') return 'text';
  return type === 'json' ? 'json' : 'jsonb';
}

/** Returns whether a name is that of an aggregate, or of an output that is one. */
export function namesAggregate(name: string, outputs: readonly Output[] = []): boolean {
  const isIt = (output: Output): boolean =>
    output.kind !== 'all' && output.aggregate !== undefined && output.name === name;
  return AGGREGATES.some((aggregate) => aggregate === name) || outputs.some(isIt);
}

/** The index of an output that is this value without cast or aggregate. */
export function indexAmong(value: Value, outputs: readonly Output[]): number | undefined {
  const index = outputs.findIndex(
    (output) =>
      output.kind === 'value' &&
      output.cast === undefined &&
      !output.through &&
      output.aggregate === undefined &&
      isSame(output.value, value),
  );
  return index < 0 ? undefined : index;
}

/** The index of an output that is this aggregate without another cast. */
export function indexOfAggregation(aggregation: Aggregation, outputs: readonly Output[]): number | undefined {
  const index = outputs.findIndex((output) => {
    if (output.kind === 'all' || output.aggregateCast !== undefined) return false;
    const own = aggregationOf(output);
    return own !== undefined && isSameAggregation(own, aggregation);
  });
  return index < 0 ? undefined : index;
}

export function isSame(a: Value, b: Value): boolean {
  const isSameColumn = a.of.kind === 'column' && b.of.kind === 'column' && a.of.column === b.of.column;
  const isSameCall = a.of.kind === 'computed' && b.of.kind === 'computed' && a.of.call === b.of.call;
  return (isSameColumn || isSameCall) && JSON.stringify(a.path) === JSON.stringify(b.path);
}

/** Returns whether two aggregates are the same. */
export function isSameAggregation(a: Aggregation, b: Aggregation): boolean {
  const isSameValue = a.value && b.value ? isSame(a.value, b.value) : a.value === b.value;
  return a.aggregate === b.aggregate && isSameValue && JSON.stringify(a.cast) === JSON.stringify(b.cast);
}

/** The aggregate that an output is before its last cast; `undefined` if it does not aggregate the rows themselves. */
export function aggregationOf(output: Output): Aggregation | undefined {
  if (output.kind === 'rows') return output.aggregate && { aggregate: output.aggregate };
  if (output.kind !== 'value' || !output.aggregate) return undefined;
  const { aggregate, value, cast } = output;
  return { aggregate, value, ...(cast !== undefined && { cast }) };
}

/** Built-in types that a request may cast to, with all names that PostgreSQL accepts. The first name is used in SQL. */
const TYPES = [
  'bigint int8',
  'bit',
  'bit varying,varbit',
  'boolean bool',
  'bytea',
  'bpchar',
  'character char',
  'character varying,varchar',
  'cidr',
  'date',
  'double precision,float8,float',
  'inet',
  'integer int int4',
  'interval',
  'json',
  'jsonb',
  'macaddr',
  'money',
  'name',
  'numeric decimal',
  'oid',
  'real float4',
  'regclass',
  'smallint int2',
  'text',
  'time,time without time zone',
  'timestamp,timestamp without time zone',
  'timestamp with time zone,timestamptz',
  'time with time zone,timetz',
  'tsquery',
  'tsvector',
  'uuid',
  'xml',
];

const CASTS: ReadonlyMap<string, string> = new Map(
  TYPES.flatMap((line) => {
    const names = line.includes(',') ? line.split(',') : line.split(' ');
    return names.map((name) => [name, names[0] as string] as const);
  }),
);

/**
 * Resolves the type of a cast; names in SQL never come from the request. Throws 42704 for a type that is unknown or
 * outside the search path, as PostgreSQL does.
 */
export function castType(type: TypeName, context: Context): Cast {
  const { schema, searchPath = [schema], known } = context;
  const { name, modifiers = [], isArray = false } = type;
  const isSystem = type.schema === undefined || type.schema === 'pg_catalog';
  // PostgreSQL's internal name of an array type: `_int4`.
  if (isSystem && name.startsWith('_') && CASTS.has(name.slice(1))) {
    return castType({ ...type, name: name.slice(1), isArray: true }, context);
  }
  const builtIn = isSystem ? CASTS.get(name.toLowerCase()) : undefined;
  if (builtIn !== undefined) return modified(builtIn, modifiers) + (isArray ? '[]' : '');
  const schemas = type.schema === undefined ? searchPath : searchPath.filter((near) => near === type.schema);
  const named = known.types?.filter((one) => one.name === name) ?? [];
  const [found] = schemas.flatMap((near) => named.filter((one) => one.schema === near));
  if (!found) throw noType(type.schema === undefined ? name : `${type.schema}.${name}`);
  return { ...found, isArray };
}

/** Adds modifiers to a type: in `timestamp(0) with time zone` after the first word, otherwise at the end. */
function modified(type: string, modifiers: readonly number[]): string {
  if (modifiers.length === 0) return type;
  const [, base = type, zone = ''] = /^(time|timestamp)( with.*)$/.exec(type) ?? [];
  return `${base}(${modifiers.join(', ')})${zone}`;
}

/** Expands `*` to named columns, for grouped rows and spreads. */
export function everyColumn(output: Output, table: Table, known: Schema): Output[] {
  if (output.kind !== 'all') return [output];
  return Array.from(table.columns.values(), (column) => ({
    kind: 'value',
    name: column.name,
    value: { of: { kind: 'column', column }, path: [], type: column.type },
    ...shownThrough(column, known),
  }));
}

/** Returns whether a column has a domain representation, so that `*` must be expanded. */
export function isRepresented({ columns }: Table, { representations }: Schema): boolean {
  if (!representations || representations.size === 0) return false;
  return [...columns.values()].some(({ type }) => representations.get(type)?.shown);
}

/** The function that converts a value of a type for the response, if there is one. */
export function shownThrough(
  { type }: Pick<Column, 'type'>,
  { representations }: Schema,
): Pick<Output & { kind: 'value' }, 'through'> {
  const through = representations?.get(type)?.shown;
  return through ? { through } : {};
}
