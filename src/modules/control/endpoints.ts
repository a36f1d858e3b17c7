import { describe } from './describe.ts';
import type { Endpoint } from './endpoint.ts';
import { flag, flagList, flagSet, flagUnset } from './flag.ts';
import { health } from './health.ts';
import { metricsDescribe, metricsRender } from './metric.ts';
import { metrics } from './metrics.ts';
import { cacheProbe, sessionProbe } from './probe.ts';
import { live, ready } from './probes.ts';
import { system } from './system.ts';

/** The inventory: all endpoints, in the order in which `describe` lists them. */
export const ENDPOINTS: readonly Endpoint[] = [
  describe(() => ENDPOINTS),
  health,
  system,
  flag,
  flagSet,
  flagUnset,
  flagList,
  cacheProbe,
  sessionProbe,
  metricsRender,
  metricsDescribe,
  metrics,
  live,
  ready,
];
