import { moduleFor, type ClusterConfig } from '../../contract/index.ts';
import { directives } from './directives.ts';
import { probeCluster } from './probe.ts';

/** Gateways that share events and rate limits through one store. The plan makes the clusters of the blocks; locations name them. */
export const cluster = moduleFor<ClusterConfig>()({
  name: 'cluster',
  summary: 'What the gateways of several machines share.',
  directives,
  // The directives are not allowed in locations.
  enabled: ({ backend }) => backend !== undefined,
  probe: probeCluster,
  compile: () => ({}),
  rules: () => import('./rules.ts'),
});
