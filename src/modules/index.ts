import type { AnyModule } from '../contract/index.ts';
import { access } from './access/index.ts';
import { accessLog } from './access_log/index.ts';
import { control } from './control/index.ts';
import { core } from './core/index.ts';
import { dbrest } from './dbrest/index.ts';
import { headers } from './headers/index.ts';
import { kv } from './kv/index.ts';
import { rewrite } from './rewrite/index.ts';
import { ssl } from './ssl/index.ts';
import { stubStatus } from './stub_status/index.ts';
import { upstream } from './upstream/index.ts';
import { workerEvents } from './worker_events/index.ts';

export { endpointPath } from './control/index.ts';
export { eventsFacts } from './worker_events/index.ts';
export type { EventsFacts } from './worker_events/index.ts';

/** All modules, in the order in which their parts of a location run. */
export const MODULES: readonly AnyModule[] = [
  core,
  ssl,
  rewrite,
  upstream,
  access,
  headers,
  accessLog,
  kv,
  workerEvents,
  dbrest,
  stubStatus,
  control,
];
