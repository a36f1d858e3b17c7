import { type TrialDescription, TrialRefusal } from '../../../contract/index.ts';
import type { Statement } from '../sql/index.ts';
import { ROLES_SQL } from './access.ts';

/** A role that trials may have. */
export type Allowed = TrialDescription['roles'][number];

/** The statement that lists the roles that trials may have. */
export function rolesStatement(anonRole: string | undefined): Statement {
  return { text: ROLES_SQL, values: [anonRole ?? null] };
}

/** Refuses a role that requests cannot have, or should not be tried with. Throws a `TrialRefusal` (403). */
export function checkRole(role: string, allowed: readonly Allowed[]): void {
  if (allowed.some(({ name }) => name === role)) return;
  throw new TrialRefusal(
    403,
    'the role cannot be tried: the login role may not become it, or it is the login role, a superuser or one of PostgreSQL itself',
  );
}
