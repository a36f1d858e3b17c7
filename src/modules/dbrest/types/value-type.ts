import { qualifiedName, type Schema, splitModifier, type Table } from '../schema/index.ts';
import type { ValueType } from './api-types.ts';

/** Types that `to_json` does not convert to strings, and pseudo-types. */
const PLAIN: ReadonlyMap<string, ValueType> = new Map<string, ValueType>([
  ['smallint', 'number'],
  ['integer', 'number'],
  ['bigint', 'number'],
  ['real', 'number'],
  ['double precision', 'number'],
  ['numeric', 'number'],
  ['boolean', 'boolean'],
  ['json', 'Json'],
  ['jsonb', 'Json'],
  ['void', 'undefined'],
  ['record', 'record'],
  ['unknown', 'unknown'],
  ['"any"', 'unknown'],
  ['anyelement', 'unknown'],
  ['anyarray', 'unknown'],
  ['anynonarray', 'unknown'],
  ['anyenum', 'unknown'],
  ['anyrange', 'unknown'],
  ['anymultirange', 'unknown'],
  ['anycompatible', 'unknown'],
  ['anycompatiblearray', 'unknown'],
  ['anycompatiblenonarray', 'unknown'],
  ['anycompatiblerange', 'unknown'],
  ['anycompatiblemultirange', 'unknown'],
]);

/** The schema cache, and the schemas that are described. */
export interface TypeScope {
  readonly known: Schema;
  readonly schemas: ReadonlySet<string>;
  /** True if the description contains the table or view. */
  /** Returns whether new rows of a table may be in those of others. */
  readonly takes: (table: Table) => boolean;
  readonly shows: (table: Table) => boolean;
}

/** The type in JSON of a type printed by `format_type`. */
export function valueType(type: string, scope: TypeScope): ValueType {
  if (type.endsWith('[]')) return { arrayOf: valueType(type.slice(0, -2), scope) };
  const { known, schemas } = scope;
  const shape = known.shapes?.get(type);
  const named = qualifiedName(type);
  const isDescribed = named !== undefined && schemas.has(named.schema);
  switch (shape?.kind) {
    case 'enum':
      return isDescribed ? { named: 'enum', ...named } : { labels: shape.labels };
    case 'domain':
      return valueType(shape.base, scope);
    case 'composite':
      return isDescribed ? { named: 'composite', ...named } : 'unknown';
    case 'json':
      return 'Json';
    case undefined:
      return (named && rowType(named, scope)) ?? PLAIN.get(splitModifier(type).name) ?? 'string';
  }
}

/** The row type of a table or view. */
function rowType(
  { schema, name }: { readonly schema: string; readonly name: string },
  { known, shows }: TypeScope,
): ValueType | undefined {
  const table = known.tables.get(schema)?.get(name);
  if (!table) return undefined;
  return shows(table) ? { named: table.isView ? 'view' : 'table', schema, name } : 'unknown';
}

/** Orders by name, independently of the locale. */
export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return order(a.name, b.name);
}

/** Orders texts by their code units. */
export function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
