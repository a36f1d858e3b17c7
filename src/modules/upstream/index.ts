import { moduleFor } from '../../contract/index.ts';
import type { UpstreamConfig } from '../../contract/index.ts';
import { directives } from './directives.ts';

/** Named groups of servers. The plan makes them; what sends requests to them lives in other modules. */
export const upstream = moduleFor<UpstreamConfig>()({
  name: 'upstream',
  directives,
  enabled: () => false,
  compile: () => ({}),
});
