import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { type ConfigSource, load } from '../../pipeline.ts';
import type { GatewayPlan } from '../../plan/index.ts';
import { type Account, helperEnvironment } from '../../system/index.ts';
import { findingLines, loadCandidate, pack } from '../candidate.ts';
import {
  type FromLoader,
  type HandedLogs,
  handOver,
  type Holdings,
  holdingsOf,
  type LoaderQuestion,
  openLogs,
  servingAccount,
} from '../rights/index.ts';

// A process that runs as root, answers one question and ends.

async function answerTo(question: LoaderQuestion): Promise<FromLoader> {
  if (question.wants === 'logs') {
    const { written, account } = question.holdings;
    return { type: 'reopened', logs: await handLogs(written.files, account) };
  }
  const source = JSON.parse(question.source) as ConfigSource;
  if (question.wants === 'findings') return { type: 'findings', lines: await findingLines(load(source)) };
  const candidate = await loadCandidate(source);
  const packed = pack(candidate);
  if (!candidate.plan) return { type: 'candidate', candidate: packed };
  return { type: 'candidate', candidate: packed, ...(await prepared(candidate.plan, question.account)) };
}

/** Creates logs and directories and gives them to the serving account before the workers open them. */
async function prepared(
  plan: GatewayPlan,
  account: Account,
): Promise<{ readonly holdings: Holdings; readonly logs: HandedLogs }> {
  // Fails here instead of at the next start if `user` names an account that does not exist.
  servingAccount(plan.main.core);
  const holdings = holdingsOf(plan, account);
  handOver(holdings.written, account);
  return { holdings, logs: await handLogs(holdings.written.files, account) };
}

/** The time for which the descriptors are held. The serving process ends their holder when it has taken them. */
const HOLD_SECONDS = 10;
const FIRST_DESCRIPTOR = 3;

/**
 * Opens logs, and passes their descriptors to a process of the account: the account can reopen them in /proc, wherever
 * the files are. This process is the holder's parent and stays until the holder has ended.
 */
async function handLogs(files: readonly string[], account: Account): Promise<HandedLogs> {
  const { held, faults } = openLogs(files, account);
  const logs = Object.entries(held);
  if (logs.length === 0) return { held, faults };
  const { uid, gid } = account;
  const holder = spawn('sleep', [String(HOLD_SECONDS)], {
    uid,
    gid,
    stdio: ['ignore', 'ignore', 'ignore', ...logs.map(([, { fd }]) => fd)],
    env: helperEnvironment(),
  });
  for (const [, { fd }] of logs) closeSync(fd);
  try {
    await once(holder, 'spawn');
  } catch {
    return { held: {}, faults };
  }
  const inHolder = logs.map(
    ([path, log], index) => [path, { ...log, fd: FIRST_DESCRIPTOR + index }] as const,
  );
  return { holder: holder.pid, held: Object.fromEntries(inHolder), faults };
}

// In the background, standard error is a pipe whose reader has ended.
process.stderr.on('error', () => undefined);
process.once('message', (question: LoaderQuestion) => {
  void answerTo(question)
    .catch((error: unknown): FromLoader => ({ type: 'failed', reason: (error as Error).message }))
    .then((answer) => process.send?.(answer, () => process.disconnect()));
});
