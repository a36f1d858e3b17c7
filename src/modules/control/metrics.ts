import { type Dictionary, DictionaryFault, type MetricSample, zoneIdentity } from '../../zone/index.ts';
import type { Endpoint } from './endpoint.ts';
import { decodeFlag } from './flags.ts';
import { OPEN_METRICS_TYPE, openMetricsText, wantsOpenMetrics } from './open-metrics.ts';
import { PROMETHEUS_TYPE, prometheusText } from './prometheus-text.ts';
import type { ControlConfig, ControlResources } from './resources.ts';

/** `/runtime/metrics`: gives the metrics of all workers, for Prometheus. */
export const metrics: Endpoint = {
  name: 'metrics',
  path: 'metrics',
  description: 'metrics of all workers in the text format of Prometheus, or as OpenMetrics',
  showsRequestCounts: true,
  compile({ resources: { worker }, build }) {
    build.needHeader('accept');
    return (x) => {
      x.response.setHeader('Vary', 'Accept');
      if (wantsOpenMetrics(x.header('accept')))
        x.send(200, OPEN_METRICS_TYPE, openMetricsText(worker.metrics.read({ exemplars: true })));
      else x.send(200, PROMETHEUS_TYPE, prometheusText(worker.metrics.read()));
    };
  },
};

const FLAG = { name: 'gw_flag', help: 'Feature flags that are on (1) or off (0).' };
const MAX_FLAGS = 1_000;

/** Adds the feature flags to the metrics, read from their dictionary. Returns the resources. */
export function withFlagMetrics(
  { flagsZone }: Pick<ControlConfig, 'flagsZone'>,
  resources: ControlResources,
): ControlResources {
  const { worker, dictionaries } = resources;
  const flags = dictionaries.get(flagsZone);
  if (flags)
    worker.share(
      `control flags ${zoneIdentity(worker.zone(flagsZone))}`,
      () => worker.metrics.collectSeries(FLAG, () => flagSamples(flags)),
      (end) => end(),
    );
  return resources;
}

/** None if the dictionary cannot be read. */
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
