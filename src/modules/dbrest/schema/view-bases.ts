import type { CatalogueEntries } from './catalogue-entries.ts';
import type { Relation, Relations } from './relation.ts';
import type { BaseColumns } from './types.ts';

/** Views on views: PostgreSQL has no limit, a definition in a circle cannot be made. */
const DEEPEST_VIEW = 50;

/** What a view shows of tables, seen through the views below it. */
export function basesOf({ columnNames, shown = [] }: Relation, relations: Relations): BaseColumns[] {
  const found = new Map<string, Map<string, string[]>>();
  for (const [number, table, column] of shown) {
    const name = columnNames.get(number);
    const origin = originOf(table, column, relations);
    if (name === undefined || !origin) continue;
    const byBase = found.get(origin.table) ?? new Map<string, string[]>();
    found.set(origin.table, byBase);
    byBase.set(origin.column, [...(byBase.get(origin.column) ?? []), name]);
  }
  return Array.from(found, ([base, names]) => ({ base, columns: names }));
}

/** A column of a base table, by its name and its attribute number. */
export interface Origin {
  /** Object id. */
  readonly table: string;
  readonly column: string;
  readonly number: number;
}

/** The column of a base table that a column of a relation shows, through all views in between. */
export function originOf(table: string, column: number, relations: Relations): Origin | undefined {
  let at: { table: string; column: number } | undefined = { table, column };
  for (let depth = 0; at && depth < DEEPEST_VIEW; depth += 1) {
    const relation = relations.get(at.table);
    if (!relation?.shown) {
      const name = relation?.columnNames.get(at.column);
      return name === undefined ? undefined : { table: at.table, column: name, number: at.column };
    }
    at = shownBy(relation.shown, at.column);
  }
  return undefined;
}

function shownBy(
  columns: CatalogueEntries['view'][1],
  wanted: number,
): { table: string; column: number } | undefined {
  const found = columns.find(([number]) => number === wanted);
  return found && { table: found[1], column: found[2] };
}

/** The key of a base table that a view shows whole. */
export function viewKey(bases: readonly BaseColumns[], relations: Relations): readonly string[] | undefined {
  for (const { base, columns } of bases) {
    const key = relations.get(base)?.primaryKey;
    const shown = key?.flatMap((name) => columns?.get(name)?.slice(0, 1) ?? []);
    if (shown && shown.length === key?.length) return shown;
  }
  return undefined;
}
