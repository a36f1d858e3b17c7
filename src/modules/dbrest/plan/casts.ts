import type { Context } from './context.ts';

/** Types a request may cast to, by every name PostgreSQL takes for them; the value is what goes into the SQL. */
const TYPES = [
  'bigint int8',
  'bit',
  'boolean bool',
  'bytea',
  'character char bpchar',
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
  'time',
  'timestamp',
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

/** A type as the fixed table above has it, or one that users of the database made. */
export type Cast = string | { readonly schema: string; readonly name: string; readonly isArray: boolean };

/** A type by its name, `undefined` when there is none: types are never taken from the request. */
export function castType(name: string, { schema, searchPath = [schema], known }: Context): Cast | undefined {
  const isArray = name.endsWith('[]');
  const element = isArray ? name.slice(0, -2) : name;
  const builtIn = CASTS.get(element.toLowerCase());
  if (builtIn !== undefined) return isArray ? `${builtIn}[]` : builtIn;
  const named = known.types?.filter((type) => type.name === element) ?? [];
  const [found] = searchPath.flatMap((place) => named.filter((type) => type.schema === place));
  return found && { ...found, isArray };
}
