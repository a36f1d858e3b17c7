import { moduleFor } from '../../contract/index.ts';
import type { WorkerScope } from '../../contract/index.ts';
import { openOpenRequests, zoneIdentity } from '../../zone/index.ts';
import type { LimitConnConfig } from './config.ts';
import { directives } from './directives.ts';
import { explanation } from './explanation.ts';
import { compileLimits, readStatus } from './limit.ts';
import type { OpenZone } from './limit.ts';
import { validate } from './validate.ts';

/** Limits on how many requests are served at the same time, shared by all workers. */
export const limitConn = moduleFor<LimitConnConfig>()<ReadonlyMap<string, OpenZone>>({
  name: 'limit_conn',
  directives,
  variables: {
    limit_conn_status: {
      summary: 'PASSED, REJECTED or REJECTED_DRY_RUN.',
      compile: () => readStatus,
    },
  },
  enabled: ({ limits }) => limits !== undefined,
  validate,
  zones: ({ zones = [] }) =>
    zones.map(({ name, sizeBytes, keyText }, index) => ({
      zone: { name, kind: 'connection limit', sizeBytes, key: keyText },
      field: 'zones',
      index,
    })),
  provision: ({ zones = [], limits = [] }, worker) => {
    const used = new Set(limits.map(({ zone }) => zone));
    return new Map(
      zones
        .filter(({ name }) => used.has(name))
        .map((config) => [config.name, { config, requests: openZone(config.name, worker) }]),
    );
  },
  compile: (config, zones, build) => ({ preaccess: compileLimits(config, zones, build) }),
  explanation,
});

/** The locations of a worker share what is open. */
function openZone(name: string, worker: WorkerScope): OpenZone['requests'] {
  const buffer = worker.zone(name);
  return worker.share(
    `limit_conn ${zoneIdentity(buffer)}`,
    () => openOpenRequests(buffer, worker.workerId),
    () => undefined,
  );
}
