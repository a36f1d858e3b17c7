import { beforeAll } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';

/** The whole inventory, dictionaries of several kinds, and a ring. */
export const CONF = `
  shared_dict_zone zone=feature_flags:1m timeout=1h;
  shared_dict_zone zone=other:64k;
  shared_dict_zone zone=listed:64k;
  js_shared_dict_zone zone=untouched:64k evict;
  server {
    location /runtime/ { control_api; }
    location /events { worker_events_api; worker_events_zone bus; worker_events_channel c; worker_events_ring_size 8; }
  }`;

/** Starts the gateway before the tests of a `describe`. */
export function surface(file: Owner, workers: number): () => Gateway {
  let gw: Gateway | undefined;
  beforeAll(async () => {
    gw = await startGateway(file, CONF, { workers });
  });
  return () => gw as Gateway;
}
