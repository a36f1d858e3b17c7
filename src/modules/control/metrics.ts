import {
  type Dictionary,
  DictionaryFault,
  type Labels,
  type MetricFamily,
  type MetricSample,
} from '../../zone/index.ts';
import type { Endpoint } from './endpoint.ts';
import { decodeFlag } from './flags.ts';

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Formats metrics in Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). */
export function prometheusText(families: readonly MetricFamily[]): string {
  let text = '';
  for (const { name, help, kind, samples } of families) {
    text += `# HELP ${name} ${escape(help, /[\\\n]/g)}\n# TYPE ${name} ${kind}\n`;
    for (const sample of samples) text += linesOf(name, sample);
  }
  return text;
}

function linesOf(name: string, { labels, value, buckets, bounds = [] }: MetricSample): string {
  if (!buckets) return `${name}${labelText(labels)} ${numberText(value)}\n`;
  let count = 0;
  const lines = buckets.map((inBucket, index) => {
    count += inBucket;
    const le = numberText(bounds[index] ?? Infinity);
    return `${name}_bucket${labelText({ ...labels, le })} ${count}\n`;
  });
  const sum = `${name}_sum${labelText(labels)} ${numberText(value)}\n`;
  return `${lines.join('')}${sum}${name}_count${labelText(labels)} ${count}\n`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escape(value, /[\\\n"]/g)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escape(text: string, special: RegExp): string {
  return text.replace(special, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}

function numberText(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
}

const MAX_FLAGS = 1_000;

/** `/runtime/metrics`: gives the metrics of all workers, for Prometheus. */
export const metrics: Endpoint = {
  name: 'metrics',
  path: 'metrics',
  description: 'metrics of all workers in the text format of Prometheus',
  showsRequestCounts: true,
  compile({ config, resources }) {
    const flags = resources.dictionaries.get(config.flagsZone);
    return (x) => {
      const families = [...resources.worker.metrics.read(), ...flagFamily(flags)];
      x.send(200, PROMETHEUS_TYPE, prometheusText(families));
    };
  },
};

/** Returns the feature flags as metrics, read from their dictionary; none if it cannot be read. */
function flagFamily(dictionary: Dictionary | undefined): readonly MetricFamily[] {
  const samples = dictionary ? flagSamples(dictionary) : [];
  if (samples.length === 0) return [];
  return [{ name: 'gw_flag', help: 'Feature flags that are on (1) or off (0).', kind: 'gauge', samples }];
}

function flagSamples(dictionary: Dictionary): readonly MetricSample[] {
  try {
    return dictionary.list(MAX_FLAGS).flatMap(({ key, value }) => {
      const flag = decodeFlag(value);
      return flag ? [{ labels: { name: key }, value: flag.enabled ? 1 : 0 }] : [];
    });
  } catch (error) {
    if (error instanceof DictionaryFault) return [];
    throw error;
  }
}
