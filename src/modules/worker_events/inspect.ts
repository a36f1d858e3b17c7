import type { Exchange, Handler } from '../../http/index.ts';
import type { Ring, RingSnapshot } from '../../zone/index.ts';
import { entryJson, refuse, refuseBusy } from './answer.ts';
import type { EndpointConfig } from './config.ts';
import { readEventQuery } from './query.ts';

/** GET and HEAD: the ring's state and the entries that the query asks for. */
export function compileInspect({ zone, channel }: EndpointConfig, ring: Ring): Handler {
  const start = `{"module":"worker_events","zone":${JSON.stringify(zone.name)},"channel":`;
  return (x: Exchange) => {
    const query = readEventQuery(x.args, channel);
    if (typeof query === 'string') return refuse(x, 400, query);
    const snapshot = ring.snapshot({ ...query, since: query.since ?? 0 });
    if (!snapshot) return refuseBusy(x);
    x.send(200, 'application/json', `${start}${JSON.stringify(query.channel ?? '')}${ringJson(snapshot)}`);
  };
}

function ringJson(snapshot: RingSnapshot): string {
  return (
    `,"capacity":${snapshot.capacity},"oldest_generation":${snapshot.oldestGeneration},` +
    `"newest_generation":${snapshot.newestGeneration},"dropped_events":${snapshot.droppedEvents},` +
    `"last_publish_msec":${snapshot.lastPublishMs},"events":[${snapshot.entries.map(entryJson).join(',')}]}`
  );
}
