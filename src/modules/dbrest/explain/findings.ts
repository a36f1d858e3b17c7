import type { TrialReason } from '../../../contract/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import type { DbrestFault } from '../fault/index.ts';
import type { Plan } from '../plan/index.ts';
import type { Session } from '../session/index.ts';
import type { Statement, Step } from '../sql/index.ts';
import { type Access, accessStatement, type Namesake, namesakesStatement, readAccess } from './access.ts';
import { needsOf } from './needs.ts';
import { type Circumstances, reasonsOf } from './reasons.ts';

/** Longest time of a statement that reads the catalogue. */
const CATALOGUE_MS = 10_000;

const READ_ONLY: Step = {
  statement: {
    text: `select from (select pg_catalog.set_config('transaction_read_only', 'on', true),
      pg_catalog.set_config('search_path', '', true),
      pg_catalog.set_config('statement_timeout', '${CATALOGUE_MS}', true)) s`,
    values: [],
  },
};

/** Reads one text from the catalogue, as the login role, in a read-only transaction. */
export async function readText(session: Session, statement: Statement): Promise<string> {
  const results = await session.run([READ_ONLY, { statement }], CATALOGUE_MS);
  return results[1]?.[0] ?? '';
}

/** A request whose rights are looked up. */
export interface Inquiry {
  readonly role: string;
  readonly config: DbrestConfig;
  /** Absent if it could not be planned. */
  readonly plan?: Plan | undefined;
  /** What the request named, as far as it could be read. */
  readonly asked: { readonly schema: string; readonly name: string };
}

/** What a role may do with what a request uses, and what has its name. */
interface Rights {
  readonly access: Access;
  readonly namesakes: readonly Namesake[];
}

/** Reads the rights of a role that concern a request. */
export async function readRights(session: Session, { role, plan, asked }: Inquiry): Promise<Rights> {
  const access = readAccess(await readText(session, accessStatement(role, plan ? needsOf(plan) : [])));
  const isNamed = asked.name !== '' && !asked.name.includes('\0') && (!plan || plan.kind === 'call');
  const namesakes = isNamed
    ? (JSON.parse(await readText(session, namesakesStatement(asked.name, role))) as readonly Namesake[])
    : [];
  return { access, namesakes };
}

/** Why a request is refused or has no rows. */
export function explainOutcome(
  { role, config, plan, asked }: Inquiry,
  { access, namesakes }: Rights,
  outcome: { readonly fault?: DbrestFault | undefined; readonly counts?: Circumstances['counts'] } = {},
): readonly TrialReason[] {
  const called = plan?.kind === 'call' ? plan.call.called : undefined;
  return reasonsOf({ role, config, access, asked, namesakes, called, ...outcome });
}
