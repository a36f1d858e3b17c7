import type { Exemplar, MetricFamily } from '../../zone/index.ts';
import { escaped, labelText, numberText, sampleLines } from './prometheus-text.ts';

export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/**
 * Tells whether a scraper asks for OpenMetrics 1.0, and not rather for the text format (RFC 9110, 12.5.1): a wildcard asks
 * for neither.
 */
export function wantsOpenMetrics(accept: string | undefined): boolean {
  if (!accept) return false;
  let [open, plain] = [0, 0];
  for (const range of accept.toLowerCase().split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim());
    const valueOf = (name: string): string | undefined =>
      parameters
        .find((part) => part.startsWith(`${name}=`))
        ?.slice(name.length + 1)
        .replaceAll('"', '');
    const quality = Number(valueOf('q') ?? 1) || 0;
    if (type === 'text/plain') plain = Math.max(plain, quality);
    if (type === 'application/openmetrics-text' && (valueOf('version') ?? '1.0.0') === '1.0.0')
      open = Math.max(open, quality);
  }
  return open > 0 && open >= plain;
}

const TOTAL = '_total';

/** Formats metrics as OpenMetrics 1.0, with exemplars. */
export function openMetricsText(families: readonly MetricFamily[]): string {
  let text = '';
  for (const { name, help, kind, samples } of families) {
    const isCounter = kind === 'counter' && name.endsWith(TOTAL);
    const shown = isCounter ? name.slice(0, -TOTAL.length) : name;
    const type = kind === 'untyped' || (kind === 'counter' && !isCounter) ? 'unknown' : kind;
    text += `# TYPE ${shown} ${type}\n# HELP ${shown} ${escaped(help, /[\\\n"]/g)}\n`;
    for (const sample of samples) text += sampleLines(name, sample, FORMAT);
  }
  return `${text}# EOF\n`;
}

const FORMAT = { boundText: canonical, exemplarText, totals: ['count', 'sum'] } as const;

function exemplarText(exemplar: Exemplar | undefined): string {
  if (!exemplar) return '';
  const { traceId, spanId, value, timeMs } = exemplar;
  const labels = labelText({ trace_id: traceId, span_id: spanId });
  return ` # ${labels} ${numberText(value)} ${(timeMs / 1000).toFixed(3)}`;
}

/** Exponents from which bounds are written with one. */
const EXPONENTS = { least: -4, most: 5 } as const;

/** A bound as OpenMetrics writes it ("Considerations: Canonical Numbers"): `1.0`, `1e-05`, `1.048576e+06`. */
function canonical(bound: number): string {
  if (!Number.isFinite(bound)) return numberText(bound);
  const [mantissa = '', exponent = '0'] = bound.toExponential().split('e');
  const power = Number(exponent);
  if (bound !== 0 && (power < EXPONENTS.least || power > EXPONENTS.most))
    return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
  const text = String(bound);
  return text.includes('.') ? text : `${text}.0`;
}
