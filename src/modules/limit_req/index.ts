import { moduleFor } from '../../contract/index.ts';
import type { WorkerScope } from '../../contract/index.ts';
import { openRequestRates, zoneIdentity } from '../../zone/index.ts';
import type { LimitReqConfig } from './config.ts';
import { directives } from './directives.ts';
import { explanation } from './explanation.ts';
import { compileLimits, readStatus } from './limit.ts';
import type { OpenZone } from './limit.ts';
import { validate } from './validate.ts';

/** Limits on how fast requests come, shared by all workers. */
export const limitReq = moduleFor<LimitReqConfig>()<ReadonlyMap<string, OpenZone>>({
  name: 'limit_req',
  directives,
  variables: {
    limit_req_status: {
      summary: 'PASSED, DELAYED, REJECTED, DELAYED_DRY_RUN or REJECTED_DRY_RUN.',
      compile: () => readStatus,
    },
  },
  enabled: ({ limits }) => limits !== undefined,
  validate,
  zones: ({ zones = [] }) =>
    zones.map(({ name, sizeBytes, keyText }, index) => ({
      zone: { name, kind: 'request limit', sizeBytes, key: keyText },
      field: 'zones',
      index,
    })),
  provision: ({ zones = [], limits = [] }, worker) => {
    const used = new Set(limits.map(({ zone }) => zone));
    return new Map(
      zones
        .filter(({ name }) => used.has(name))
        .map((config) => [config.name, { config, rates: openZone(config.name, worker) }]),
    );
  },
  compile: (config, zones, build) => ({ preaccess: compileLimits(config, zones, build) }),
  explanation,
});

/** The locations of a worker share what is open. */
function openZone(name: string, worker: WorkerScope): OpenZone['rates'] {
  const buffer = worker.zone(name);
  return worker.share(
    `limit_req ${zoneIdentity(buffer)}`,
    () => openRequestRates(buffer, worker.workerId),
    () => undefined,
  );
}
