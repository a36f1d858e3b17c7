import { type ConfigSource, load } from '../../pipeline.ts';
import type { GatewayPlan } from '../../plan/index.ts';
import type { Account } from '../../system/index.ts';
import { findingLines, loadCandidate, pack } from '../candidate.ts';
import {
  type FromLoader,
  handOver,
  type Holdings,
  holdingsOf,
  type LoaderQuestion,
  servingAccount,
} from '../rights/index.ts';

// The program of a process that runs as root, answers one question and ends.

async function answerTo(question: LoaderQuestion): Promise<FromLoader> {
  if (question.wants === 'handover') {
    handOver(question.holdings.written, question.holdings.account);
    return { type: 'done' };
  }
  const source = JSON.parse(question.source) as ConfigSource;
  if (question.wants === 'findings') return { type: 'findings', lines: await findingLines(load(source)) };
  const candidate = await loadCandidate(source);
  const holdings = candidate.plan && prepared(candidate.plan, question.account);
  return { type: 'candidate', candidate: pack(candidate), holdings };
}

/** Creates logs and directories and gives them to the serving account before the workers open them. */
function prepared(plan: GatewayPlan, account: Account): Holdings {
  // Fails here instead of at the next start if `user` names an account that does not exist.
  servingAccount(plan.main.core);
  const holdings = holdingsOf(plan, account);
  handOver(holdings.written, account);
  return holdings;
}

process.once('message', (question: LoaderQuestion) => {
  void answerTo(question)
    .catch((error: unknown): FromLoader => ({ type: 'failed', reason: (error as Error).message }))
    .then((answer) => process.send?.(answer, () => process.disconnect()));
});
