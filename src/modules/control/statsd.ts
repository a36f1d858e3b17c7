import { ControlFault, type Endpoint, type Query, readQuery, sendText } from './endpoint.ts';

/** A metric of a request, with every part validated. */
interface Metric {
  /** Including its namespace. */
  readonly name: string;
  /** As it was written. */
  readonly value: string;
  readonly type: string;
  /** Above 0, at most 1. */
  readonly rate: number;
  /** `name:value` each. */
  readonly tags: readonly string[];
  /** Absent: StatsD, extended by tags if there are any. */
  readonly format: 'statsd' | 'dogstatsd' | undefined;
}

const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    c: ['c', 'counter'],
    g: ['g', 'gauge'],
    ms: ['ms', 'timer', 'timing'],
    s: ['s', 'set'],
    d: ['d', 'distribution'],
    h: ['h', 'histogram'],
  }).flatMap(([type, names]) => names.map((name) => [name, type] as const)),
);

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
// eslint-disable-next-line no-control-regex -- a control character would end the line or hide in it
const FORBIDDEN_IN_NAME = /[:|@\x00-\x1f\x7f]/;
// eslint-disable-next-line no-control-regex -- the same
const FORBIDDEN_IN_TAG = /[|#,\x00-\x1f\x7f]/;

/** Reads a metric from the query. Throws a `ControlFault` (400) with the fault. */
function readMetric(query: Query): Metric {
  const type = readType(query.get('type') ?? 'c');
  const namespace = readName('namespace', query.get('ns') ?? 'gw');
  return {
    name: `${namespace}.${readName('name', query.get('name') ?? 'control_api_metric')}`,
    value: readValue(query.get('value') ?? '1', type),
    type,
    rate: readRate(query.get('rate') ?? '1.0'),
    tags: readTags(query.get('tags') ?? ''),
    format: readFormat(query.get('format')),
  };
}

function readName(what: string, name: string): string {
  if (name === '') throw malformed(`empty ${what}`);
  if (FORBIDDEN_IN_NAME.test(name)) throw malformed(`${what} contains ":", "|", "@" or a control character`);
  return name;
}

function readType(name: string): string {
  const type = TYPES.get(name);
  if (type === undefined) throw malformed(`unknown type "${name}"`);
  return type;
}

function readValue(value: string, type: string): string {
  if (!NUMBER.test(value) || !Number.isFinite(Number(value))) throw malformed('value is not a number');
  if (type === 'c' && Number(value) < 0) throw malformed('negative counter');
  return value;
}

function readRate(text: string): number {
  const rate = NUMBER.test(text) ? Number(text) : NaN;
  if (!(rate > 0 && rate <= 1)) throw malformed('rate is not in (0, 1]');
  return rate;
}

function readTags(text: string): readonly string[] {
  if (text === '') return [];
  const tags = text.split(',');
  for (const tag of tags) {
    if (!tag.includes(':')) throw malformed(`tag "${tag}" has no ":"`);
    if (tag.startsWith(':')) throw malformed('empty tag name');
    if (FORBIDDEN_IN_TAG.test(tag)) throw malformed('tag contains "|", "#" or a control character');
  }
  return tags;
}

function readFormat(format: string | undefined): Metric['format'] {
  if (format === undefined || format === 'statsd' || format === 'dogstatsd') return format;
  throw malformed(`unknown format "${format}"`);
}

function malformed(message: string): ControlFault {
  return new ControlFault(400, `metric validation error: ${message}`);
}

/** `/runtime/metrics/render`: gives a metric as a line of StatsD or DogStatsD. */
export const metricsRender: Endpoint = ofMetric('metrics_render', {
  path: 'metrics/render',
  description: 'a StatsD or DogStatsD line from ?name=, &value=, &type=, &ns=, &rate=, &tags= and &format=',
  text: ({ name, value, type, rate, tags, format }) =>
    `${name}:${value}|${type}${rate === 1 ? '' : `|@${rate}`}` +
    (tags.length === 0 || format === 'statsd' ? '' : `|#${tags.join(',')}`),
});

/** `/runtime/metrics/describe`: gives the same metric in words. */
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
