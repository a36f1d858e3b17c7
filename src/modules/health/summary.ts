import type { CheckResult, Health } from '../../health/index.ts';
import type { Counters } from '../../zone/index.ts';

/** The health of the service, its upstreams and their peers. */
export interface HealthSummary {
  readonly services: readonly CheckResult[];
  readonly upstreams: readonly CheckResult[];
  readonly peers: readonly CheckResult[];
}

/** Returns the results of all checks, grouped by their subject. */
export function summaryOf(health: Health): HealthSummary {
  const all = health.results();
  return {
    services: all.filter(({ plan }) => plan.scope === 'service'),
    upstreams: all.filter(({ plan }) => plan.scope === 'upstream'),
    peers: all.filter(({ plan }) => plan.scope === 'peer'),
  };
}

/** Tells whether a check is healthy; an unknown verdict counts as healthy. */
export function isHealthy({ verdict }: CheckResult): boolean {
  return verdict !== 'unhealthy';
}

/** Tells whether all probes of the service succeed. */
export function isReady({ services }: HealthSummary): boolean {
  return services.every(isHealthy);
}

/** The numbers of healthy and of unhealthy servers. */
interface BackendCounts {
  readonly healthy: number;
  readonly failed: number;
}

/** Counts the servers with checks or, without such servers, the targets of the service's probes. */
export function countBackends({ peers, services }: HealthSummary): BackendCounts {
  const byServer = new Map<string, boolean>();
  for (const result of peers.length > 0 ? peers : services) {
    const key = `${result.plan.upstream} ${result.peer}`;
    byServer.set(key, isHealthy(result) && byServer.get(key) !== false);
  }
  const healthy = [...byServer.values()].filter(Boolean).length;
  return { healthy, failed: byServer.size - healthy };
}

/** Requests that were served, and those with a status of 400 or more. */
interface RequestCounts {
  readonly requests: number;
  readonly failed: number;
}

/** Counts the requests of all locations but those that show health. */
export function countRequests(metrics: Counters): RequestCounts {
  const family = metrics.read().find(({ name }) => name === 'gw_http_requests_total');
  let requests = 0;
  let failed = 0;
  for (const { labels, value } of family?.samples ?? []) {
    requests += value;
    if (/^[45]/.test(labels['code'] ?? '')) failed += value;
  }
  return { requests, failed };
}
