import { TrialRefusal, type TrialApi } from '../../../contract/index.ts';
import { type ConnectionTarget, loadPg } from '../../../postgres/index.ts';
import { unreachableReason } from '../../../system/index.ts';
import { openSession, type Session } from '../session/index.ts';
import { type TrialParts, Trials } from './trial.ts';

/** Opens the trials of a location. Each trial gets a session of its own, which nobody uses after it. */
export function openTrials({
  target,
  ...parts
}: Omit<TrialParts, 'withSession'> & { readonly target: ConnectionTarget }): TrialApi {
  return new Trials({
    ...parts,
    async withSession(use) {
      const session = await connected(target);
      try {
        return await use(session);
      } finally {
        await session.end();
      }
    },
  });
}

async function connected(target: ConnectionTarget): Promise<Session> {
  const pg = await loadPg();
  try {
    return await openSession(pg, target, { ended: () => undefined });
  } catch (error) {
    const reason = unreachableReason(error as Error) ?? 'it refuses the connection';
    throw new TrialRefusal(503, `the database cannot be reached: ${reason}`);
  }
}
