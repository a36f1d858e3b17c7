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

/** Returns whether a role has any privilege on a table or function. */
export function mayUse(role: string, { grantees }: Pick<Table, 'grantees'>, { roles }: Schema): boolean {
  const privileges = roles.get(role);
  return privileges === 'all' || grantees.some((grantee) => privileges?.has(grantee));
}

/** SQL: whether the login role may become the role with an object id; before PostgreSQL 16 every member may. */
export function mayBecomeSql(oid: string): string {
  return `pg_catalog.pg_has_role(session_user, ${oid},
    case when pg_catalog.current_setting('server_version_num')::int < 160000 then 'member' else 'set' end)`;
}
