import type { CatalogueEntries } from './catalogue-entries.ts';
import type { Relation, Relations, WriteFacts } from './relation.ts';
import type { Column } from './types.ts';
import { originOf } from './view-bases.ts';

/** `names`: columns by their attribute numbers. */
export function writeFactsOf(
  [, columns, indexes]: CatalogueEntries['writing'],
  names: ReadonlyMap<number, string>,
): WriteFacts {
  return {
    columns: new Map(columns.map(([number, ...facts]) => [number, columnFacts(facts)])),
    uniqueIndexes: indexes.map(([numbers, predicate]) => ({
      columns: numbers.map((number) => names.get(number) ?? ''),
      ...(predicate !== null && { predicate }),
    })),
  };
}

type Entry = CatalogueEntries['writing'][1][number] extends readonly [number, ...infer Facts] ? Facts : never;

function columnFacts([isNotNull, identity, isGenerated, defaultSql]: Entry): Partial<Column> {
  return {
    ...(isNotNull && { isNotNull }),
    ...(identity !== '' && { identity: identity === 'a' ? ('always' as const) : ('by default' as const) }),
    ...(isGenerated && { isGenerated }),
    ...(defaultSql !== null && { defaultSql }),
  };
}

/** The columns of a relation with what is known of them; a column of a view has the default of the one that it shows. */
export function columnsWithFacts(relation: Relation, relations: Relations): ReadonlyMap<string, Column> {
  const { columns, columnNames, facts, shown } = relation;
  if (!facts && !shown) return columns;
  const known = new Map(columns);
  for (const [number, name] of columnNames) {
    const own = facts?.columns.get(number);
    const defaultSql = own?.defaultSql ?? (shown && baseDefault(shown, number, relations));
    if (!own && defaultSql === undefined) continue;
    known.set(name, {
      ...(columns.get(name) as Column),
      ...own,
      ...(defaultSql !== undefined && { defaultSql }),
    });
  }
  return known;
}

function baseDefault(
  shown: NonNullable<Relation['shown']>,
  wanted: number,
  relations: Relations,
): string | undefined {
  const found = shown.find(([number]) => number === wanted);
  const origin = found && originOf(found[1], found[2], relations);
  return origin && relations.get(origin.table)?.facts?.columns.get(origin.number)?.defaultSql;
}
