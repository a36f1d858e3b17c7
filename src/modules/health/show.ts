import type { CheckResult } from '../../health/index.ts';
import { type HealthSummary, isHealthy, isReady } from './summary.ts';

/** Returns the fields of one probe, under the names of nginz. */
function probeFields(result: CheckResult | undefined): Record<string, unknown> {
  const { probedMs = 0, spentMs = 0, changedMs = 0 } = result ?? {};
  const isRecovered = result?.verdict === 'healthy' && changedMs > 0;
  const slowStartMs = result?.plan.slowStartMs ?? 0;
  const sinceMs = Math.max(0, Date.now() - changedMs);
  return {
    probe_healthy: !result || isHealthy(result),
    probe_last_status: result?.status ?? 0,
    probe_last_checked_ms: Math.trunc(probedMs),
    probe_last_started_ms: Math.max(0, Math.trunc(probedMs - spentMs)),
    probe_slow_start_elapsed_ms: isRecovered ? Math.trunc(Math.min(slowStartMs, sinceMs)) : 0,
    probe_recovered_at_ms: isRecovered ? Math.trunc(changedMs) : 0,
    probe_total_successes: result?.successes ?? 0,
    probe_total_failures: result?.failures ?? 0,
    probe_consecutive_successes: result?.passes ?? 0,
    probe_consecutive_failures: result?.fails ?? 0,
  };
}

/** Returns the first probe of the service that fails, or the first of all. */
function shownService({ services }: HealthSummary): CheckResult | undefined {
  return services.find((result) => !isHealthy(result)) ?? services[0];
}

/** Returns the JSON of `health_status`. */
export function statusText(
  summary: HealthSummary,
  { requests, failed }: { readonly requests: number; readonly failed: number },
): string {
  const ready = isReady(summary);
  const { services, upstreams, peers } = summary;
  const healthy = upstreams.filter(isHealthy).length;
  return JSON.stringify({
    status: ready ? 'healthy' : 'unhealthy',
    healthy: ready,
    ready,
    requests,
    failed,
    success_rate: requests > 0 ? Math.trunc(((requests - failed) * 100) / requests) : 100,
    probe_enabled: services.length > 0,
    ...probeFields(shownService(summary)),
    upstreams_summary: { healthy, unhealthy: upstreams.length - healthy, total: upstreams.length },
    upstreams: upstreams.map((result) => ({ name: result.plan.name, ...probeFields(result) })),
    peers: peers.map((result) => ({
      upstream: result.plan.name,
      peer: result.peer,
      check: result.uri,
      state: result.verdict === 'unknown' && result.plan.mandatory ? 'checking' : result.verdict,
      ...probeFields(result),
    })),
  });
}

type Labels = Readonly<Record<string, string>>;
type Line = readonly [name: string, value: number, labels?: Labels];

/** Returns the text of `health_metrics`. */
export function metricsText(
  summary: HealthSummary,
  { requests, failed }: { readonly requests: number; readonly failed: number },
): string {
  const { services, upstreams, peers } = summary;
  const service = shownService(summary);
  const lines: Line[] = [
    ['requests_total', requests],
    ['failed_requests_total', failed],
    ['ready', Number(isReady(summary))],
    ['probe_healthy', Number(services.length > 0 && isReady(summary))],
    ['probe_last_status', service?.status ?? 0],
    ['probe_successes_total', service?.successes ?? 0],
    ['probe_failures_total', service?.failures ?? 0],
    ['probe_consecutive_successes', service?.passes ?? 0],
    ['probe_consecutive_failures', service?.fails ?? 0],
    ...upstreams.flatMap((result) => linesOf('upstream', result, { upstream: result.plan.name })),
    ...peers.flatMap((result) =>
      linesOf('peer', result, { upstream: result.plan.name, peer: result.peer, check: result.uri }),
    ),
  ];
  return lines.map(([name, value, labels]) => `nginz_health_${name}${labelText(labels)} ${value}\n`).join('');
}

function linesOf(kind: string, result: CheckResult, labels: Labels): Line[] {
  return [
    [`${kind}_probe_healthy`, Number(isHealthy(result)), labels],
    [`${kind}_probe_last_status`, result.status, labels],
  ];
}

function labelText(labels: Labels = {}): string {
  const pairs = Object.entries({ module: 'healthcheck', ...labels });
  return `{${pairs.map(([name, value]) => `${name}="${value.replace(/[\\"]/g, '\\$&')}"`).join(',')}}`;
}
