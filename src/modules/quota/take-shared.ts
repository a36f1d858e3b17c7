import type { OpenCluster } from '../../cluster/index.ts';
import { type Balance, type Demand, type Outcome, take } from './take.ts';
import { periodAt } from './window.ts';

/** A quota whose counts are in the store of a cluster. Those in memory decide if the store does not respond. */
export interface SharedQuota {
  readonly cluster: CountingCluster;
  readonly isExact: boolean;
}

/** The part of a cluster that quotas use. */
interface CountingCluster extends Pick<OpenCluster, 'liveNodes'> {
  readonly plan: { readonly limits: Pick<OpenCluster['plan']['limits'], 'fallback'> };
  readonly quotas: Pick<OpenCluster['quotas'], 'count' | 'giveBack'>;
}

/** A request to count in one quota, which gateways may share. */
export interface AnyDemand extends Demand {
  readonly shared?: SharedQuota;
}

/** What the store says of one demand. */
type Found =
  | { readonly counted: Balance; readonly giveBack: () => void }
  | { readonly refusedBy: Balance }
  /** To be counted on this gateway, and perhaps nowhere. */
  | { readonly local: readonly Demand[] }
  | 'closed';

/**
 * Counts a request as `take` does, in the shared quotas first. What these have counted is given back if another quota
 * refuses the request.
 */
export async function takeShared(demands: readonly AnyDemand[], nowMs: number): Promise<Outcome> {
  const local: Demand[] = [];
  const counted: Extract<Found, { counted: Balance }>[] = [];
  const before = () =>
    counted.map(({ counted: { demand, left, period }, giveBack }): Balance => {
      giveBack();
      return { demand, left: left + demand.cost, period };
    });
  for (const demand of demands) {
    const found: Found = demand.shared ? await ask(demand, demand.shared, nowMs) : { local: [demand] };
    if (found === 'closed') return { balances: before(), failed: { demand, why: 'lost' } };
    if ('refusedBy' in found) return { balances: [...before(), found.refusedBy], refusedBy: found.refusedBy };
    if ('local' in found) local.push(...found.local);
    else counted.push(found);
  }
  const outcome = take(local, nowMs);
  const isRefused = outcome.refusedBy !== undefined || outcome.failed !== undefined;
  const shared = isRefused ? before() : counted.map((one) => one.counted);
  return { ...outcome, balances: [...shared, ...outcome.balances] };
}

async function ask(demand: Demand, { cluster, isExact }: SharedQuota, nowMs: number): Promise<Found> {
  const { zone, key, limit, cost, window } = demand;
  const period = periodAt(window, nowMs);
  const request = { zone, key, limit, cost, isExact, ...period };
  const result = await cluster.quotas.count(request);
  if (result.verdict === 'lost') return fallback(demand, cluster);
  const balance = { demand, left: result.left, period };
  if (result.verdict === 'refused') return { refusedBy: balance };
  if (FOLLOWING.has(cluster.plan.limits.fallback)) follow(balance, nowMs);
  return { counted: balance, giveBack: () => cluster.quotas.giveBack(request) };
}

/** Fallbacks that use the counts of this gateway. */
const FOLLOWING: ReadonlySet<string> = new Set(['local', 'share']);

/** Writes what all gateways have counted into the counts of this one. */
function follow({ demand: { rates, key, limit }, left }: Balance, nowMs: number): void {
  rates.choose(key);
  if (!rates.acquire()) return;
  try {
    if (!rates.find()) return;
    rates.number = limit - left;
    rates.writtenMs = nowMs;
  } finally {
    rates.release();
  }
}

function fallback(demand: Demand, { plan, liveNodes }: CountingCluster): Found {
  switch (plan.limits.fallback) {
    case 'local':
      return { local: [demand] };
    case 'share':
      return { local: [{ ...demand, limit: Math.max(1, Math.floor(demand.limit / liveNodes)) }] };
    case 'open':
      return { local: [] };
    case 'closed':
      return 'closed';
  }
}
