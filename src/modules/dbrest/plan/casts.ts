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

/** The SQL of a type name, or `undefined`: types are never taken from the request. */
export function castType(name: string): string | undefined {
  if (!name.endsWith('[]')) return CASTS.get(name.toLowerCase());
  const element = CASTS.get(name.slice(0, -2).toLowerCase());
  return element && `${element}[]`;
}
