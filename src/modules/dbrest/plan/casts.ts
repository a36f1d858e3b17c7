import { noModifiers, noType } from '../fault/index.ts';
import type { TypeName } from '../request/index.ts';
import type { Context } from './context.ts';

/** Types a request may cast to, by every name PostgreSQL takes for them; the value is what goes into the SQL. */
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

/** How many modifiers a built-in type takes at most. */
const MOST_MODIFIERS: ReadonlyMap<string, number> = new Map([
  ['bit', 1],
  ['bit varying', 1],
  ['bpchar', 1],
  ['character', 1],
  ['character varying', 1],
  ['interval', 1],
  ['numeric', 2],
  ['time', 1],
  ['time with time zone', 1],
  ['timestamp', 1],
  ['timestamp with time zone', 1],
]);

/** A type as the fixed table above has it, or one that users of the database made. */
export type Cast = string | { readonly schema: string; readonly name: string; readonly isArray: boolean };

/**
 * What to cast to; names are never taken from the request. Throws 42704 for a type that is not there or lies outside of
 * the search path, and 42601, as PostgreSQL does, for modifiers that it does not take.
 */
export function castType(type: TypeName, context: Context): Cast {
  const { schema, searchPath = [schema], known } = context;
  const { name, modifiers = [], isArray = false } = type;
  const isSystem = type.schema === undefined || type.schema === 'pg_catalog';
  // PostgreSQL's own name of an array type: `_int4`.
  if (isSystem && name.startsWith('_') && CASTS.has(name.slice(1))) {
    return castType({ ...type, name: name.slice(1), isArray: true }, context);
  }
  const builtIn = isSystem ? CASTS.get(name.toLowerCase()) : undefined;
  if (modifiers.length > (MOST_MODIFIERS.get(builtIn ?? '') ?? 0)) throw noModifiers(builtIn ?? name);
  if (builtIn !== undefined) return modified(builtIn, modifiers) + (isArray ? '[]' : '');
  const places = type.schema === undefined ? searchPath : searchPath.filter((place) => place === type.schema);
  const named = known.types?.filter((one) => one.name === name) ?? [];
  const [found] = places.flatMap((place) => named.filter((one) => one.schema === place));
  if (!found) throw noType(type.schema === undefined ? name : `${type.schema}.${name}`);
  return { ...found, isArray };
}

/** `timestamp(0) with time zone`: the modifier stands behind the first word there, and at the end of all others. */
function modified(type: string, modifiers: readonly number[]): string {
  if (modifiers.length === 0) return type;
  const [, base = type, zone = ''] = /^(time|timestamp)( with.*)$/.exec(type) ?? [];
  return `${base}(${modifiers.join(', ')})${zone}`;
}
