import type { ExplainedFact, PolicyAccess, RelationAccess, TrialReason } from '../../../contract/index.ts';
import type { DbrestPass } from '../directives/index.ts';
import type { DbrestFault } from '../fault/index.ts';
import { faultOf } from '../response/index.ts';
import type { Session } from '../session/index.ts';
import type { Statements } from '../sql/index.ts';
import { withDatabase } from '../tools/index.ts';
import { explainOutcome, type Inquiry, readRights } from './reasons.ts';
import { explainSteps, PlanText } from './shown-statement.ts';

/** The privileges and policies of a role, and the reasons why a request would fail, as facts of an explanation. */
function rightsFacts(
  relations: readonly RelationAccess[],
  reasons: readonly TrialReason[],
): readonly ExplainedFact[] {
  return [
    ...relations.map((relation) => ({ label: 'privilege', value: privilegeText(relation) })),
    ...relations.flatMap(({ name, rowSecurity, policies }) =>
      rowSecurity === 'applies'
        ? policies.map((policy) => ({ label: 'policy', value: policyText(name, policy) }))
        : [],
    ),
    ...reasons.map(({ text, remedy }) => ({
      label: 'why',
      value: remedy === undefined ? text : `${text}: ${remedy}`,
    })),
  ];
}

const SECURITY: Readonly<Record<RelationAccess['rowSecurity'], string>> = {
  off: 'no row security',
  applies: 'row security applies',
  bypassed: 'row security is bypassed',
};

function privilegeText({ name, role, commands, rowSecurity, isDirect }: RelationAccess): string {
  const rights = commands.map(({ command, isAllowed, missingColumns }) => {
    if (isAllowed) return command;
    return missingColumns ? `no ${command} of ${missingColumns.join(', ')}` : `no ${command}`;
  });
  const through = isDirect ? '' : ', through a view';
  return `${name}: ${role} has ${rights.join(', ')}; ${SECURITY[rowSecurity]}${through}`;
}

function policyText(
  relation: string,
  { name, isPermissive, command, roles, using, check, applies }: PolicyAccess,
): string {
  const kind = `${isPermissive ? 'permissive' : 'restrictive'}, ${command}, to ${roles.join(', ')}`;
  const shown = [
    ...(using === undefined ? [] : [`using (${using})`]),
    ...(check === undefined ? [] : [`with check (${check})`]),
  ];
  return `${applies ? '✓' : '✗'} ${name} on ${relation} (${kind})${shown.map((text) => ` ${text}`).join('')}`;
}

/** Longest time for the plan of a statement. */
const PATIENCE_MS = 10_000;

/** A request whose rights and plan are shown; `statements` are absent if it was refused before. */
interface LiveInquiry extends Inquiry {
  readonly statements?: Statements | undefined;
  readonly fault?: DbrestFault | undefined;
}

/** The plan, the privileges and policies, and why the request would fail, read from the database. Nothing runs. */
export async function liveFacts(pass: DbrestPass, inquiry: LiveInquiry): Promise<readonly ExplainedFact[]> {
  try {
    return await withDatabase(pass, (session) => readFacts(session, inquiry));
  } catch (error) {
    return [{ label: 'why', value: `unknown: ${(error as Error).message}` }];
  }
}

async function readFacts(session: Session, inquiry: LiveInquiry): Promise<readonly ExplainedFact[]> {
  const rights = await readRights(session, inquiry);
  const planned = inquiry.statements && (await planOf(session, inquiry.statements, inquiry));
  const fault = inquiry.fault ?? planned?.fault;
  const reasons = explainOutcome(inquiry, rights, { fault });
  const plan = planned?.text ? [{ label: 'plan', value: planned.text }] : [];
  return [...plan, ...rightsFacts(rights.access.relations, reasons)];
}

async function planOf(
  session: Session,
  statements: Statements,
  { config, role }: Inquiry,
): Promise<{ readonly text: string; readonly fault?: DbrestFault | undefined }> {
  const sink = new PlanText();
  const steps = explainSteps(statements, { measured: false, sink });
  if (!steps) return { text: '' };
  try {
    await session.run(steps, PATIENCE_MS);
    return { text: sink.text };
  } catch (error) {
    return { text: '', fault: faultOf(error, { authenticated: role !== config.anonRole }) };
  }
}
