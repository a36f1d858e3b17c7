import type { MetricFamily, MetricSample } from '../../../zone/index.ts';

/** What was counted of one location since the start. */
export interface PlaceTally {
  readonly server: string;
  readonly location: string;
  readonly codes: ReadonlyMap<string, number>;
  /** Durations. */
  readonly buckets: readonly number[];
  readonly bytes: number;
}

/** By server and location. */
export type Tally = ReadonlyMap<string, PlaceTally>;

/** The samples of a metric; none when nothing was counted. */
export function samplesOf(families: readonly MetricFamily[], name: string): readonly MetricSample[] {
  return families.find((family) => family.name === name)?.samples ?? [];
}

/** The value of a metric without labels. */
export function valueOf(families: readonly MetricFamily[], name: string): number {
  return samplesOf(families, name)[0]?.value ?? 0;
}

/** The requests of every location that had some. */
export function tallyOf(families: readonly MetricFamily[]): Tally {
  const durations = byPlace(samplesOf(families, 'gw_http_request_duration_seconds'));
  const sizes = byPlace(samplesOf(families, 'gw_http_response_size_bytes'));
  const codes = new Map<string, Map<string, number>>();
  for (const { labels, value } of samplesOf(families, 'gw_http_requests_total')) {
    const key = keyOf(labels);
    const counts = codes.get(key) ?? new Map<string, number>();
    const code = labels['code'] ?? '';
    codes.set(key, counts.set(code, (counts.get(code) ?? 0) + value));
  }
  return new Map(
    [...durations].map(([key, { labels, buckets = [] }]) => [
      key,
      {
        server: labels['server'] ?? '',
        location: labels['location'] ?? '',
        codes: codes.get(key) ?? new Map<string, number>(),
        buckets,
        bytes: sizes.get(key)?.value ?? 0,
      },
    ]),
  );
}

export function requestsOf({ codes }: Pick<PlaceTally, 'codes'>): number {
  let sum = 0;
  for (const count of codes.values()) sum += count;
  return sum;
}

function byPlace(samples: readonly MetricSample[]): ReadonlyMap<string, MetricSample> {
  return new Map(samples.map((sample) => [keyOf(sample.labels), sample]));
}

function keyOf(labels: MetricSample['labels']): string {
  return `${labels['server'] ?? ''}\n${labels['location'] ?? ''}`;
}
