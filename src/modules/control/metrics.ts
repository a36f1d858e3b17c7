import { DictionaryFault } from '../../zone/index.ts';
import type { Dictionary, MetricFamily, MetricSample } from '../../zone/index.ts';
import type { Endpoint } from './endpoint.ts';
import { decodeFlag } from './flags.ts';
import { PROMETHEUS_TYPE, prometheusText } from './prometheus.ts';

const MAX_FLAGS = 1_000;

/** `/runtime/metrics`: what all workers have counted and measured, for Prometheus. */
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

/** Flags come and go with their dictionary, so they are read there; a dictionary that cannot be read shows none. */
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
