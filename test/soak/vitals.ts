import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSeconds, memoryOf, processesOf } from '../bench/process-tree.ts';
import { ask } from './client.ts';
import type { Stage } from './stage.ts';

/** Measurements of a gateway without requests. */
export interface Vitals {
  readonly rssMb: number;
  /** Open descriptors of all its processes. */
  readonly descriptors: number;
  /** Worst `gw_worker_eventloop_lag_seconds` of the workers. */
  readonly eventLoopLagMs: number;
  /** Median time of a health probe. */
  readonly probeMs: number;
  /** Of one core: CPU time that no request caused. */
  readonly idleCpuPercent: number;
  readonly databaseSessionsAtWork: number;
}

/** How much more than before a run may remain after it. */
export const BOUNDS = {
  rssMb: 96,
  rssShare: 0.4,
  descriptors: 12,
  eventLoopLagMs: 100,
  probeMs: 50,
  idleCpuPercent: 20,
} as const;

/** The longest time until the leftovers of clients are gone: idle connections, pools, garbage. */
const SETTLE_MS = 60_000;
const IDLE_MS = 2_000;

export async function measure(stage: Stage): Promise<Vitals> {
  const { gateway, sites, database } = stage;
  const usedBefore = cpuSeconds([gateway.pid]);
  await sleep(IDLE_MS);
  const used = cpuSeconds([gateway.pid]) - usedBefore;
  const probes: number[] = [];
  for (let probe = 0; probe < 21; probe++) {
    const { startedMs } = await ask(sites.port, '/live');
    probes.push(performance.now() - startedMs);
  }
  const { body } = await ask(sites.port, '/metrics');
  const lags = [...body.matchAll(/^gw_worker_eventloop_lag_seconds\S* (\S+)$/gm)].map(
    ([, lag]) => Number(lag) * 1000,
  );
  const [sessions] = await database.query<{ count: number }>(
    `select count(*)::int from pg_stat_activity where usename = 'authenticator' and state <> 'idle'`,
  );
  return {
    rssMb: Math.round(memoryOf(gateway.pid).rssBytes / 1e6),
    descriptors: processesOf(gateway.pid).reduce((sum, pid) => sum + descriptorsOf(pid), 0),
    eventLoopLagMs: Math.round(Math.max(0, ...lags)),
    probeMs: Math.round(probes.toSorted((one, other) => one - other)[10] ?? 0),
    idleCpuPercent: Math.round((used / IDLE_MS) * 100_000),
    databaseSessionsAtWork: sessions?.count ?? 0,
  };
}

/** Waits until the gateway is as it was, and gives the measurements; after a minute, the differences that remain. */
export async function settle(stage: Stage, before: Vitals): Promise<{ after: Vitals; faults: string[] }> {
  const deadlineMs = performance.now() + SETTLE_MS;
  for (;;) {
    const after = await measure(stage);
    const faults = differences(before, after);
    if (faults.length === 0 || performance.now() > deadlineMs) return { after, faults };
    await sleep(2_000);
  }
}

export function differences(before: Vitals, after: Vitals): string[] {
  const allowed = {
    rssMb: before.rssMb + Math.max(BOUNDS.rssMb, before.rssMb * BOUNDS.rssShare),
    descriptors: before.descriptors + BOUNDS.descriptors,
    eventLoopLagMs: before.eventLoopLagMs + BOUNDS.eventLoopLagMs,
    probeMs: before.probeMs + BOUNDS.probeMs,
    idleCpuPercent: before.idleCpuPercent + BOUNDS.idleCpuPercent,
    databaseSessionsAtWork: 0,
  };
  return (Object.keys(allowed) as (keyof Vitals)[])
    .filter((name) => after[name] > allowed[name])
    .map(
      (name) =>
        `${name} is ${after[name]} in the end, ${before[name]} after the warm-up, allowed ${allowed[name]}`,
    );
}

function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}
