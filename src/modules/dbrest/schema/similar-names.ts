import type { Rights } from './rights.ts';
import type { Schema, Table } from './schema.ts';

const LEAST_SIMILARITY = 0.75;
/** Bounds the cost of looking for similar names. */
const MOST_CANDIDATES = 1_000;

/** The table with the most similar name, among those that may be seen: hints must not disclose others. */
export function similarTable(
  { schema, table }: { readonly schema: string; readonly table: string },
  known: Schema,
  isSeen: (table: Table) => boolean,
): string | undefined {
  const siblings = [...(known.tables.get(schema)?.values() ?? [])];
  if (siblings.length > MOST_CANDIDATES) return undefined;
  return mostSimilar(
    table,
    siblings.filter(isSeen).map(({ name }) => name),
    LEAST_SIMILARITY,
  );
}

/** The candidate most similar to a name, if its similarity (0 to 1) is at least `least`; the first of equal ones. */
export function mostSimilar(name: string, candidates: readonly string[], least: number): string | undefined {
  let best: string | undefined;
  let bestSimilarity = least;
  for (const candidate of candidates) {
    const similarity = similarityOf(name, candidate, bestSimilarity);
    if (similarity < bestSimilarity || (best !== undefined && similarity === bestSimilarity)) continue;
    best = candidate;
    bestSimilarity = similarity;
  }
  return best;
}

/** Similarity from 0 to 1: one minus the Levenshtein distance relative to the longer length. */
function similarityOf(a: string, b: string, least: number): number {
  const longest = Math.max(a.length, b.length);
  if (Math.abs(a.length - b.length) > longest * (1 - least)) return 0;
  return 1 - distanceOf(a, b) / longest;
}

/** The Levenshtein distance. */
function distanceOf(a: ArrayLike<string>, b: ArrayLike<string>): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] as number) + 1, (row[j - 1] as number) + 1));
    }
    previous = row;
  }
  return previous[b.length] as number;
}

/** The largest distance of a column that PostgreSQL suggests; it is at most half of the length of the name, too. */
const MOST_DISTANCE = 3;

/**
 * The columns that PostgreSQL would suggest instead of a name: the nearest one, two that are equally near, or none if
 * there are more (`parse_relation.c`, updateFuzzyAttrMatch). Only columns that the rights show; without rights all.
 */
export function similarColumns(name: string, table: Table, rights: Rights | undefined): readonly string[] {
  const letters = Array.from(name);
  const most = Math.min(MOST_DISTANCE, Math.floor(Buffer.byteLength(name) / 2));
  const near = Array.from({ length: most + 1 }, (): string[] => []);
  for (const column of table.columns.keys()) {
    const others = Array.from(column);
    if (Math.abs(others.length - letters.length) > most || !isSeen(rights, table, column)) continue;
    near[distanceOf(letters, others)]?.push(column);
  }
  const nearest = near.find(({ length }) => length > 0) ?? [];
  return nearest.length > 2 ? [] : nearest;
}

function isSeen(rights: Rights | undefined, table: Table, column: string): boolean {
  return !rights || (['r', 'a', 'w'] as const).some((privilege) => rights.may(privilege, table, column));
}
