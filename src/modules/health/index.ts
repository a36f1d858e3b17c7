import {
  type Build,
  type ConfigReport,
  type ExplainedAction,
  moduleFor,
  type VariableDefinition,
  type WorkerScope,
} from '../../contract/index.ts';
import { compileRead, compileReadGate, type Exchange, type Handler } from '../../http/index.ts';
import { EVENT_LIMITS } from '../../zone/index.ts';
import { directives, type HealthModuleConfig } from './directives.ts';
import { metricsText, statusText } from './show.ts';
import { countBackends, countRequests, type HealthSummary, isReady, summaryOf } from './summary.ts';

type Report = ConfigReport<HealthModuleConfig>;

function validate({ matches = [], eventsChannel }: HealthModuleConfig, report: Report): void {
  const seen = new Set<string>();
  for (const [index, { name }] of matches.entries()) {
    if (seen.has(name)) report.phrase('matches', `duplicate match "${name}"`, { index });
    seen.add(name);
  }
  const bytes = Buffer.byteLength(eventsChannel ?? ' ');
  if (bytes === 0) report.on('eventsChannel', 'must not be empty');
  if (bytes > EVENT_LIMITS.channelBytes)
    report.on('eventsChannel', `exceeds ${EVENT_LIMITS.channelBytes} bytes, ${bytes} given`);
}

const JSON_TYPE = 'application/json';

function compileContent(config: HealthModuleConfig, worker: WorkerScope, build: Build): Handler | undefined {
  const { health, metrics } = build;
  if (config.liveness) return compileRead((x) => x.send(200, JSON_TYPE, '{"status":"alive"}'));
  if (config.readiness)
    return compileRead((x) => {
      const ready = !worker.draining && isReady(summaryOf(health));
      x.send(ready ? 200 : 503, JSON_TYPE, `{"status":"${ready ? 'ready' : 'not_ready'}"}`);
    });
  if (config.status)
    return onGuardedRead({ worker, build }, (x) => {
      const summary = summaryOf(health);
      x.send(isReady(summary) ? 200 : 503, JSON_TYPE, statusText(summary, countRequests(metrics)));
    });
  if (config.metrics)
    return onGuardedRead({ worker, build }, (x) =>
      x.send(200, 'text/plain; version=0.0.4', metricsText(summaryOf(health), countRequests(metrics))),
    );
  return undefined;
}

/** Compiles a guarded GET for operators: it names peers, unlike `liveness` and `readiness` for load balancers. */
function onGuardedRead(
  { worker, build }: { readonly worker: WorkerScope; readonly build: Build },
  respond: (x: Exchange) => void,
): Handler {
  return compileRead(respond, {
    gate: compileReadGate(build, (host) => worker.view.knowsHost(host)),
    forbid: (x, message) => x.send(403, JSON_TYPE, JSON.stringify({ status: 'error', message })),
  });
}

const variable = (summary: string, read: (summary: HealthSummary) => number): VariableDefinition => ({
  summary,
  live: true,
  volatile: true,
  compile:
    ({ health }) =>
    () =>
      String(read(summaryOf(health))),
});

const TOLD: ExplainedAction = { does: 'shows the health of the gateway', unknown: 'the results of probes' };

/** Active checks of upstreams, probes of the service, and their results. `src/health` runs the checks of the plan. */
export const health = moduleFor<HealthModuleConfig>()<WorkerScope>({
  name: 'health',
  summary: 'Active checks of the servers of a group, and reports of their health.',
  directives,
  content: ['liveness', 'readiness', 'status', 'metrics'],
  variables: {
    health_readiness: variable('1, or 0 while a probe of the service fails.', (all) => Number(isReady(all))),
    health_liveness: { summary: '1.', compile: () => () => '1' },
    health_backend_healthy_count: variable(
      'Number of servers that their checks call healthy.',
      (all) => countBackends(all).healthy,
    ),
    health_backend_total_count: variable('Number of servers with checks.', (all) => {
      const { healthy, failed } = countBackends(all);
      return healthy + failed;
    }),
    health_backend_failure_count: variable(
      'Number of servers that their checks call unhealthy.',
      (all) => countBackends(all).failed,
    ),
  },
  enabled: ({ matches, liveness, readiness, status, metrics, eventsChannel }) =>
    [matches, liveness, readiness, status, metrics, eventsChannel].some((field) => field !== undefined),
  validate,
  showsRequestCounts: ({ status, metrics }) => status === true || metrics === true,
  sensitive: ({ status, metrics }) => {
    if (status) return { rule: 'status-exposed', field: 'status' };
    return metrics ? { rule: 'status-exposed', field: 'metrics' } : undefined;
  },
  provision: (_config, worker) => worker,
  compile(config, worker, build) {
    const content = compileContent(config, worker, build);
    return content ? { content, quiet: true } : {};
  },
  rules: () => import('./rules.ts'),
  explanation: { explain: (config) => (hasContent(config) ? { content: () => TOLD } : {}) },
});

function hasContent({ liveness, readiness, status, metrics }: HealthModuleConfig): boolean {
  return [liveness, readiness, status, metrics].includes(true);
}
