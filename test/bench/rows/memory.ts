import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSeconds, memoryOf } from '../process-tree.ts';
import type { Row } from '../row.ts';
import { startGw } from '../servers.ts';

const WORKERS = 2;
const GOAL_MB = 110;
const IDLE_CPU_SHARE = 0.02;

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0);

/** Memory of a gateway without requests: supervisor, master and two workers. */
export const memoryRow: Row = {
  name: 'memory',
  async run(bench) {
    const { pid } = await startGw(
      bench,
      `location / { return 200 ok; }
       location /events { worker_events_api; worker_events_zone bus; worker_events_channel cache; }`,
      WORKERS,
    );
    await idle(pid);
    const memory = memoryOf(pid);
    const [alone, pss, rss] = [memory.aloneBytes, memory.pssBytes, memory.rssBytes].map(megabytes);
    return [
      {
        subject: `idle memory, ${WORKERS} workers`,
        result: `${alone} MB`,
        goal: `<= ${GOAL_MB} MB`,
        verdict: memory.aloneBytes <= GOAL_MB * 1e6 ? 'pass' : 'miss',
        note: `shared pages counted once; PSS ${pss} MB (other node processes share them too), RSS ${rss} MB`,
        measured: memory,
      },
    ];
  },
};

/** Resolves when the processes have done next to nothing for a second: the compiler and the collector have finished. */
async function idle(pid: number): Promise<void> {
  for (let before = cpuSeconds([pid]); ;) {
    await sleep(1_000);
    const now = cpuSeconds([pid]);
    if (now - before <= IDLE_CPU_SHARE) return;
    before = now;
  }
}
