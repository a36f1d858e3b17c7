/** A constant with its casts: `'new'::text`, `'{}'::public.tags[]`, `1.5`, `'-1'::integer`, `true`. */
const QUOTED = /^'((?:[^']|'')*)'::(.*)$/s;
const NUMBER = /^\(?(-?\d+(?:\.\d+)?)\)?(?:::[\w ]+)?$/;

/** What a column gets without a value: as JSON where it is a constant, else as the SQL that computes it. */
export function defaultOf(sql: string, jsonType: unknown): { default: unknown } | { 'x-pg-default': string } {
  const value = constantOf(sql, jsonType);
  return value === undefined ? { 'x-pg-default': sql } : { default: value };
}

function constantOf(sql: string, jsonType: unknown): unknown {
  if (sql === 'true' || sql === 'false') return sql === 'true';
  const text = QUOTED.exec(sql)?.[1]?.replaceAll("''", "'") ?? NUMBER.exec(sql)?.[1];
  if (text === undefined) return undefined;
  const types: readonly unknown[] = Array.isArray(jsonType) ? jsonType : [jsonType];
  if (types.includes('string')) return text;
  if (types.includes('array')) return text === '{}' ? [] : undefined;
  return jsonConstant(text, types);
}

/** Only a number that comes out as it went in; any JSON where the column takes any. */
function jsonConstant(text: string, types: readonly unknown[]): unknown {
  const isNumber = types.includes('integer') || types.includes('number');
  if (isNumber) return String(Number(text)) === text ? Number(text) : undefined;
  if (types.some((type) => type !== undefined)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
