import type { TableName } from './schema.ts';

const QUALIFIED = /^("(?:[^"]|"")+"|[^".]+)\.("(?:[^"]|"")+"|[^".]+)$/;

/** The schema and name of a user-defined type printed by `format_type`; `undefined` for a type of PostgreSQL or an array. */
export function qualifiedName(type: string): TableName | undefined {
  const [schema, name] = QUALIFIED.exec(type)?.slice(1).map(unquoted) ?? [];
  return schema === undefined || name === undefined ? undefined : { schema, name };
}

function unquoted(identifier: string): string {
  return identifier.startsWith('"') ? identifier.slice(1, -1).replaceAll('""', '"') : identifier;
}

/** Splits the modifier from a type: `timestamp(3) with time zone` is `timestamp with time zone` with modifier 3. */
export function splitModifier(type: string): { name: string; modifier: string | undefined } {
  const found = (type.includes('"') ? /\(([^()"]*)\)$/ : /\(([^()]*)\)/).exec(type);
  if (!found) return { name: type, modifier: undefined };
  return { name: type.replace(found[0], ''), modifier: found[1] };
}
