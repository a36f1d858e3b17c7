import type { Bench } from '../bench.ts';
import { startNginx } from '../nginx.ts';
import { cpuSeconds, type Memory, memoryOf } from '../process-tree.ts';
import { NotInstalled } from '../programs.ts';
import { megabytes } from '../quantities.ts';
import { type Finding, type Row, sizeLine } from '../row.ts';
import { type Server, startGw } from '../servers.ts';
import { setTimeout as sleep } from 'node:timers/promises';

const IDLE_CPU_SHARE = 0.02;
const EVENTS = 'location /events { worker_events_api; worker_events_zone bus; worker_events_channel cache; }';

/** Memory without requests, of all processes. */
export const memoryRow: Row = {
  name: 'memory',
  async run(bench) {
    const idle = `location / { return 200 ok; } ${EVENTS}`;
    const many = locations(10_000);
    return [
      await memoryLine(await startGw(bench, idle, 2), {
        subject: 'idle, two workers, PSS',
        goal: 85,
        aim: 70,
        peer: '',
      }),
      await memoryLine(await startGw(bench, many), {
        subject: '10,000 locations, PSS',
        goal: 160,
        ...(await nginxAim(bench, many)),
      }),
    ];
  },
};

/** So many locations that return a text. */
export function locations(count: number): string {
  return Array.from({ length: count }, (_, index) => `location ${pathOf(index)} { return 200 ok; }`).join(
    '\n',
  );
}

export const pathOf = (index: number): string => `/shop/item-${String(index).padStart(6, '0')}/`;

/** An idle gateway gives the memory of its start back after half a minute. */
const SETTLED_MS = 33_000;

/** Memory of a server without requests. */
export async function idleMemoryOf(server: Server): Promise<Memory> {
  await sleep(SETTLED_MS);
  return quietMemoryOf(server);
}

/** Memory once nothing happens any more. */
export async function quietMemoryOf({ pid }: Server): Promise<Memory> {
  // The compiler and the collector have finished when the processes do next to nothing for a second.
  for (let before = cpuSeconds([pid]); ;) {
    await sleep(1_000);
    const now = cpuSeconds([pid]);
    if (now - before <= IDLE_CPU_SHARE) return memoryOf(pid);
    before = now;
  }
}

async function memoryLine(
  server: Server,
  line: { subject: string; goal: number; aim?: number; peer: string },
): Promise<Finding> {
  const memory = await idleMemoryOf(server);
  return sizeLine({
    ...line,
    values: [memory.pssBytes / 1e6],
    unit: 'MB',
    note: `alone on the machine ${megabytes(memory.aloneBytes)} (other node processes share pages), RSS ${megabytes(memory.rssBytes)}`,
    details: memory,
  });
}

/** What nginx takes for the same, with one worker. */
async function nginxAim(bench: Bench, content: string): Promise<{ aim?: number; peer: string }> {
  try {
    const { pssBytes } = await idleMemoryOf(await startNginx(bench, content));
    return { aim: pssBytes / 1e6, peer: megabytes(pssBytes) };
  } catch (error) {
    if (!(error instanceof NotInstalled)) throw error;
    return { peer: error.message };
  }
}
