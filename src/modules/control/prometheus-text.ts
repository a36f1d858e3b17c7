import type { Exemplar, Labels, MetricFamily, MetricSample } from '../../zone/index.ts';

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Formats metrics in Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). */
export function prometheusText(families: readonly MetricFamily[]): string {
  let text = '';
  for (const { name, help, kind, samples } of families) {
    text += `# HELP ${name} ${escaped(help, /[\\\n]/g)}\n# TYPE ${name} ${kind}\n`;
    for (const sample of samples) text += sampleLines(name, sample, FORMAT);
  }
  return text;
}

/** What the two formats write differently. */
interface SampleFormat {
  readonly boundText: (bound: number) => string;
  /** What follows the count of a bucket. */
  readonly exemplarText: (exemplar: Exemplar | undefined) => string;
  /** The lines that follow the buckets of a histogram, in their order. */
  readonly totals: readonly ('sum' | 'count')[];
}

const FORMAT: SampleFormat = {
  boundText: numberText,
  exemplarText: () => '',
  totals: ['sum', 'count'],
};

/** Returns the lines of one series, each with its line end. */
export function sampleLines(
  name: string,
  { labels, value, buckets, bounds = [], exemplars }: MetricSample,
  { boundText, exemplarText, totals }: SampleFormat,
): string {
  if (!buckets) return `${name}${labelText(labels)} ${numberText(value)}\n`;
  let count = 0;
  let text = '';
  for (const [index, inBucket] of buckets.entries()) {
    count += inBucket;
    const le = boundText(bounds[index] ?? Infinity);
    text += `${name}_bucket${labelText({ ...labels, le })} ${count}${exemplarText(exemplars?.[index])}\n`;
  }
  const values = { sum: value, count };
  for (const total of totals) text += `${name}_${total}${labelText(labels)} ${numberText(values[total])}\n`;
  return text;
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
