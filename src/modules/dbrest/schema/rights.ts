import type { Privilege } from './discovery.ts';
import type { Schema, Table } from './types.ts';

/** What one role may do. */
export interface Rights {
  usesSchema(name: string): boolean;
  /** On the table as a whole; without the name of a column. */
  may(privilege: Privilege, table: Table, column?: string): boolean;
  /** One of these, object ids, is the role, a role that it is a member of, or PUBLIC. */
  isAmong(grantees: readonly string[]): boolean;
}

/** Those of a superuser, and of a description that is to show everything. */
export const EVERY_RIGHT: Rights = { usesSchema: () => true, may: () => true, isAmong: () => true };

/** The rights of a role as the catalogue has them, memberships included; an unknown role has none. */
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
