import type { Labels, MetricFamily, MetricSample } from '../../zone/index.ts';

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Formats metrics in Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). */
export function prometheusText(families: readonly MetricFamily[]): string {
  let text = '';
  for (const { name, help, kind, samples } of families) {
    text += `# HELP ${name} ${escaped(help, /[\\\n]/g)}\n# TYPE ${name} ${kind}\n`;
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

/** Labels as both formats write them. */
export function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value, /[\\\n"]/g)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** Puts a backslash before the special characters of a text, and `n` for a line feed. */
export function escaped(text: string, special: RegExp): string {
  return text.replace(special, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}

export function numberText(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
}
