import type { OpenCluster } from '../../cluster/index.ts';
import {
  admit,
  type Admission,
  delayMsOf,
  type Fill,
  follow,
  PASSED,
  type RateLimit,
} from './leaky-bucket.ts';

/** A limit of this gateway, or one that the gateways of a cluster share. */
export interface AnyLimit extends RateLimit {
  readonly zone: string;
  readonly shared?: SharedZone;
}

/** A zone with its counts in the store of a cluster. The counts in memory decide if the store does not respond. */
export interface SharedZone {
  readonly cluster: LimitingCluster;
  readonly isExact: boolean;
}

/** The part of a cluster that limits use. */
interface LimitingCluster extends Pick<OpenCluster, 'liveNodes'> {
  readonly plan: { readonly limits: Pick<OpenCluster['plan']['limits'], 'fallback'> };
  readonly limits: Pick<OpenCluster['limits'], 'admit'>;
}

/** Fallbacks that use the bucket of this gateway. */
const FOLLOWING: ReadonlySet<string> = new Set(['local', 'share']);

type Delayed = Extract<Admission, { verdict: 'delayed' }>;

/**
 * Counts a request in the shared buckets one after another, and then, if all of them allow it, in those of this gateway
 * as `admit` does. The counts of shared buckets remain if a later limit refuses the request.
 */
export async function admitShared(limits: readonly AnyLimit[], fills?: Fill[]): Promise<Admission> {
  const local: RateLimit[] = [];
  let longest: Delayed | undefined;
  for (const limit of limits) {
    const found = limit.shared ? await admitByStore(limit, limit.shared, fills) : limit;
    if (!('verdict' in found)) local.push(found);
    else if (found.verdict === 'delayed') longest = longer(found, longest);
    else if (found.verdict !== 'passed') return found;
  }
  const admission = local.length > 0 ? admit(local, undefined, fills) : PASSED;
  if (admission.verdict === 'delayed') return longer(admission, longest);
  return admission.verdict === 'passed' ? (longest ?? admission) : admission;
}

/** Returns the longer delay; of equal delays nginx reports the later limit. */
function longer(later: Delayed, earlier: Delayed | undefined): Delayed {
  return earlier && earlier.delayMs > later.delayMs ? earlier : later;
}

/** Returns the decision of the store, or the limit of this gateway if the store has not responded in time. */
async function admitByStore(
  limit: AnyLimit,
  { cluster, isExact }: SharedZone,
  fills?: Fill[],
): Promise<Admission | RateLimit> {
  const { zone, key, milliRequestsPerSecond, burst } = limit;
  const result = await cluster.limits.admit({ zone, key, milliRequestsPerSecond, burst, isExact });
  if (result.verdict === 'lost') return fallback(limit, cluster);
  const { verdict, excess } = result;
  fills?.push({ limit, excess });
  if (verdict === 'refused') return { verdict: 'rejected', excess, limit };
  if (FOLLOWING.has(cluster.plan.limits.fallback)) follow(limit, excess);
  const delayMs = delayMsOf(limit, excess);
  return delayMs > 0 ? { verdict: 'delayed', delayMs, excess, limit } : PASSED;
}

function fallback(limit: AnyLimit, { plan, liveNodes }: LimitingCluster): Admission | RateLimit {
  switch (plan.limits.fallback) {
    case 'local':
      return limit;
    case 'share': {
      const rate = Math.floor(limit.milliRequestsPerSecond / liveNodes);
      return { ...limit, milliRequestsPerSecond: Math.max(1, rate) };
    }
    case 'open':
      return PASSED;
    case 'closed':
      return { verdict: 'failed', why: 'lost', limit };
  }
}
