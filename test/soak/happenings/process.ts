import { sabotage } from '../../master/saboteur.ts';
import type { Happening } from '../actor.ts';
import type { Stage } from '../stage.ts';
import { untilServed } from './until.ts';

const BACK_MS = 30_000;

export const processHappenings: readonly Happening[] = [
  { name: 'worker-throws', weight: 3, hits: ['worker'], happen: ({ stage }) => crash(stage, 'throw') },
  { name: 'worker-rejects', weight: 3, hits: ['worker'], happen: ({ stage }) => crash(stage, 'reject') },
  {
    // The worker ends alone, or with its process where it cannot be ended otherwise.
    name: 'worker-hangs',
    weight: 1,
    hits: ['process'],
    async happen({ stage }) {
      const from = stage.gateway.errorLog().length;
      sabotage(stage.sites, 'spin');
      await stage.gateway.waitForLog(/start worker processes|worker \d+ was started again/, from);
      await untilServed(stage.sites.port, '/live', BACK_MS);
    },
  },
  {
    name: 'process-killed',
    weight: 2,
    hits: ['process'],
    async happen({ stage }) {
      const { gateway } = stage;
      const from = gateway.errorLog().length;
      process.kill(gateway.masterPid, 'SIGKILL');
      await gateway.waitForLog(/start worker processes/, from);
      await untilServed(stage.sites.port, '/live', BACK_MS);
    },
  },
];

async function crash(stage: Stage, act: 'throw' | 'reject'): Promise<void> {
  const from = stage.gateway.errorLog().length;
  sabotage(stage.sites, act);
  await stage.gateway.waitForLog(/worker \d+ was started again/, from);
  await untilServed(stage.sites.port, '/live', BACK_MS);
}
