import type { Schema, Table } from './types.ts';

const LEAST_SIMILARITY = 0.75;
/** A bound on the work that one unknown name causes. */
const MOST_CANDIDATES = 1_000;

/** The table whose name is most like an unknown one, among those that the role may use: a hint must not tell of others. */
export function similarTable(
  { schema, table }: { readonly schema: string; readonly table: string },
  role: string,
  { roles, tables }: Schema,
): string | undefined {
  const siblings = tables.get(schema);
  const privileges = roles.get(role);
  if (!siblings || !privileges || siblings.size > MOST_CANDIDATES) return undefined;
  const mayUse = ({ grantees }: Table): boolean =>
    privileges === 'all' || grantees.some((grantee) => privileges.has(grantee));
  let best: string | undefined;
  let bestSimilarity = LEAST_SIMILARITY;
  for (const candidate of siblings.values()) {
    const similarity = similarityOf(table, candidate.name);
    if (similarity < bestSimilarity || (best !== undefined && similarity === bestSimilarity)) continue;
    if (!mayUse(candidate)) continue;
    best = candidate.name;
    bestSimilarity = similarity;
  }
  return best;
}

/** 1 for equal names, falling with each character to insert, drop or replace (Levenshtein) in relation to the length. */
function similarityOf(a: string, b: string): number {
  const longest = Math.max(a.length, b.length);
  if (Math.abs(a.length - b.length) > longest * (1 - LEAST_SIMILARITY)) return 0;
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] as number) + 1, (row[j - 1] as number) + 1));
    }
    previous = row;
  }
  return 1 - (previous[b.length] as number) / longest;
}
