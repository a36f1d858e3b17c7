import type { ExplainedFact } from '../../../contract/index.ts';
import type { DbrestPass } from '../directives/index.ts';
import type { DbrestFault } from '../fault/index.ts';
import { faultOf } from '../response/index.ts';
import type { Session } from '../session/index.ts';
import type { Statements } from '../sql/index.ts';
import { withDatabase } from '../tools/index.ts';
import { rightsFacts } from './facts.ts';
import { explainOutcome, type Inquiry, readRights } from './findings.ts';
import { explainSteps, PlanText } from './plan-text.ts';

/** Longest time for the plan of a statement. */
const PATIENCE_MS = 10_000;

/** A request to tell the rights and the plan of; `statements` are absent if it was refused before. */
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
