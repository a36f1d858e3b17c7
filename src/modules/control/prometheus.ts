import type { Build } from '../../contract/index.ts';
import { compileRead, compileReadGate, type Exchange, type Handler } from '../../http/index.ts';
import type { Counters, MetricFamily, MetricSample } from '../../zone/index.ts';
import { PROMETHEUS_TYPE, prometheusText } from './prometheus-text.ts';
import type { ControlResources } from './resources.ts';

/** Compiles `prometheus_metrics`: the metrics of nginz's prometheus module, with its names, over all workers. */
export function compilePrometheus({ worker }: ControlResources, build: Build): Handler {
  // Prometheus may send any host name.
  return compileRead((x) => x.send(200, PROMETHEUS_TYPE, prometheusText(familiesOf(worker.metrics))), {
    gate: compileReadGate(build, (host) => worker.view.knowsHost(host), { foreignNames: 'of programs' }),
    forbid: (x: Exchange, reason: string) => x.send(403, 'text/plain', `${reason}\n`),
  });
}

function familiesOf(metrics: Counters): readonly MetricFamily[] {
  const families = metrics.read();
  const samplesOf = (name: string): readonly MetricSample[] =>
    families.find((family) => family.name === name)?.samples ?? [];
  const requests = samplesOf('gw_http_requests_total');
  return [
    { name: 'nginx_up', help: 'Whether nginx is up', kind: 'gauge', samples: [{ labels: {}, value: 1 }] },
    {
      name: 'nginx_http_requests_total',
      help: 'Total number of HTTP requests',
      kind: 'counter',
      samples: [{ labels: {}, value: sumOf(requests) }],
    },
    {
      name: 'nginx_http_requests_by_status',
      help: 'HTTP requests by status code class',
      kind: 'counter',
      samples: ['1', '2', '3', '4', '5'].map((first) => ({
        labels: { status: `${first}xx` },
        value: sumOf(requests.filter(({ labels }) => labels['code']?.startsWith(first))),
      })),
    },
    {
      name: 'nginx_http_request_duration_seconds',
      help: 'Request duration in seconds',
      kind: 'histogram',
      samples: [mergedOf(samplesOf('gw_http_request_duration_seconds'))],
    },
  ];
}

function sumOf(samples: readonly MetricSample[]): number {
  return samples.reduce((sum, { value }) => sum + value, 0);
}

/** Adds up the histograms of all locations, which have the same bounds. */
function mergedOf(samples: readonly MetricSample[]): MetricSample {
  const { bounds = [] } = samples[0] ?? {};
  const buckets = Array.from({ length: bounds.length + 1 }, (_, nth) =>
    samples.reduce((sum, sample) => sum + (sample.buckets?.[nth] ?? 0), 0),
  );
  return { labels: {}, value: sumOf(samples), buckets, bounds };
}
