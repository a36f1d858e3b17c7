import type { Endpoint } from './endpoint.ts';
import { sendText } from './envelope.ts';
import { readMetric } from './metric-query.ts';
import type { Metric } from './metric-query.ts';
import { readQuery } from './query.ts';

/** `/runtime/metrics/render`: a metric as a line of StatsD or DogStatsD. */
export const metricsRender: Endpoint = ofMetric('metrics_render', {
  path: 'metrics/render',
  description: 'a StatsD or DogStatsD line from ?name=, &value=, &type=, &ns=, &rate=, &tags= and &format=',
  text: ({ name, value, type, rate, tags, format }) =>
    `${name}:${value}|${type}${rate === 1 ? '' : `|@${rate}`}` +
    (tags.length === 0 || format === 'statsd' ? '' : `|#${tags.join(',')}`),
});

/** `/runtime/metrics/describe`: the same metric in words. */
export const metricsDescribe: Endpoint = ofMetric('metrics_describe', {
  path: 'metrics/describe',
  description: 'a summary of the metric that metrics/render would give',
  text: ({ name, value, type, rate, tags }) =>
    `${name} type=${type} value=${value} rate=${Number.isInteger(rate) ? rate.toFixed(1) : rate} tags=${tags.length}`,
});

interface MetricText {
  readonly path: string;
  readonly description: string;
  text(metric: Metric): string;
}

function ofMetric(name: string, { text, ...facts }: MetricText): Endpoint {
  return {
    name,
    ...facts,
    compile: () => (x) => sendText(x, text(readMetric(readQuery(x.args)))),
  };
}
