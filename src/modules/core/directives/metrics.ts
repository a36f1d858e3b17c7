import type { Word } from '../../../../grammar/index.ts';
import { type ArgReader, directivesFor, readers, type ReadScope } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';
import { MAX_BOUNDS } from '../../../zone/index.ts';

const { integer, oneWord, parseTimeMs, words } = readers;

/** `metrics_buckets time ...`: ascending, in seconds. */
const buckets: ArgReader<readonly number[]> = words(
  { syntax: 'time ...', min: 1, max: MAX_BOUNDS },
  (list, scope) => {
    const bounds = list.map((word) => readSeconds(word, scope));
    if (bounds.some((bound) => bound === undefined)) return undefined;
    const wrong = list[bounds.findIndex((bound, nth) => nth > 0 && (bound ?? 0) <= (bounds[nth - 1] ?? 0))];
    if (!wrong) return bounds as number[];
    scope.report.emerg(
      `value "${wrong.value}" in "${scope.directive}" directive does not exceed the one before it`,
      wrong.span,
    );
    return undefined;
  },
);

function readSeconds({ value, span }: Word, { directive, report }: ReadScope): number | undefined {
  const [, micros] = /^(\d{1,12})us$/.exec(value) ?? [];
  const seconds = micros === undefined ? (parseTimeMs(value) ?? 0) / 1000 : Number(micros) / 1e6;
  if (seconds > 0) return seconds;
  const expected = 'expected a time above zero such as 250us, 5ms or 1m';
  report.emerg(`invalid value "${value}" in "${directive}" directive`, span, expected);
  return undefined;
}

/** `metrics_location on | off | name`. */
const location: ArgReader<boolean | string> = oneWord('on | off | name', ({ value, span }, scope) => {
  if (value === 'on' || value === 'off') return value === 'on';
  if (value !== '' && !value.includes('$')) return value;
  const expected = 'expected on, off or a name without variables';
  scope.report.emerg(`invalid value "${value}" in "${scope.directive}" directive`, span, expected);
  return undefined;
});

/** Directives about metrics. */
export const metrics = directivesFor<CoreConfig>()({
  metrics_max_series: {
    contexts: ['main'],
    args: integer({ min: 100, max: 100_000 }),
    into: 'metricsMaxSeries',
    default: 2000,
    summary:
      'Maximum number of label sets of all metrics; further ones are counted as `other`. Changes take effect after a restart.',
    source: 'gw',
  },
  metrics_buckets: {
    contexts: ['http'],
    args: buckets,
    into: 'metricsBuckets',
    defaultText:
      '100us 250us 500us 1ms 2500us 5ms 10ms 25ms 50ms 100ms 250ms 500ms 1s 2500ms 5s 10s 30s 1m 2m 5m',
    summary:
      'Upper bounds of the buckets of all histograms of times, at most twenty. Changes take effect after a restart.',
    source: 'gw',
  },
  metrics_location: {
    contexts: ['server', 'location'],
    args: location,
    into: 'metricsLocation',
    default: true,
    defaultText: 'on',
    summary:
      'The label `location` of requests in metrics: the location as it is written, or a name, which several locations may share. "off" counts requests in `nginx_http_requests_total` only.',
    source: 'gw',
  },
});
