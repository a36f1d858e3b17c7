import type { Privilege } from './discovery.ts';
import type { Schema, Table } from './schema.ts';

/** The privileges of one role. */
export interface Rights {
  usesSchema(name: string): boolean;
  /** Returns whether the role has a privilege on the table, or on the given column. */
  may(privilege: Privilege, table: Table, column?: string): boolean;
  /** Returns whether the object ids include the role, a role of which it is a member, or PUBLIC. */
  isAmong(grantees: readonly string[]): boolean;
}

/** All privileges: those of a superuser, and for descriptions that ignore privileges. */
export const EVERY_RIGHT: Rights = { usesSchema: () => true, may: () => true, isAmong: () => true };

/** The privileges of a role, including memberships; an unknown role has none. */
export function rightsOf(role: string, { roles, namespaces }: Schema): Rights {
  const holders = roles.get(role) ?? new Set<string>();
  if (holders === 'all') return EVERY_RIGHT;
  const has = (grants: ReadonlyMap<string, string> | undefined, privilege: Privilege): boolean => {
    for (const [grantee, letters] of grants ?? []) {
      if (holders.has(grantee) && letters.includes(privilege)) return true;
    }
    return false;
  };
  const isAmong = (grantees: readonly string[]): boolean => grantees.some((grantee) => holders.has(grantee));
  return {
    isAmong,
    usesSchema: (name) => isAmong(namespaces?.get(name)?.users ?? []),
    may: (privilege, { access }, column) =>
      has(access?.grants, privilege) ||
      (column !== undefined && has(access?.columnGrants?.get(column), privilege)),
  };
}

const LEAST_SIMILARITY = 0.75;
/** Bounds the cost of looking for similar names. */
const MOST_CANDIDATES = 1_000;

/** The table with the most similar name, among those that the role may use: hints must not disclose others. */
export function similarTable(
  { schema, table }: { readonly schema: string; readonly table: string },
  role: string,
  known: Schema,
): string | undefined {
  const siblings = [...(known.tables.get(schema)?.values() ?? [])];
  if (siblings.length > MOST_CANDIDATES) return undefined;
  const names = siblings.filter((sibling) => mayUse(role, sibling, known)).map(({ name }) => name);
  return mostSimilar(table, names, LEAST_SIMILARITY);
}

/** Returns whether a role has any privilege on a table or function. */
export function mayUse(role: string, { grantees }: Pick<Table, 'grantees'>, { roles }: Schema): boolean {
  const privileges = roles.get(role);
  return privileges === 'all' || grantees.some((grantee) => privileges?.has(grantee));
}

/** The candidate that is most similar to a name, if its similarity (0 to 1) is at least `least`; the first of equals. */
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

/** SQL: whether the login role may become the role with an object id; before PostgreSQL 16 every member may. */
export function mayBecomeSql(oid: string): string {
  return `pg_catalog.pg_has_role(session_user, ${oid},
    case when pg_catalog.current_setting('server_version_num')::int < 160000 then 'member' else 'set' end)`;
}
