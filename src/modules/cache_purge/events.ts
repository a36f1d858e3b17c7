import type { WorkerScope } from '../../contract/index.ts';
import type { LogContext } from '../../log/index.ts';
import { EVENT_LIMITS, openRing } from '../../zone/index.ts';
import type { CachePurgeConfig, PurgeMatch } from './directives.ts';

/** The counts of events that the responses of a location show. */
interface EventCounts {
  attempted: number;
  published: number;
  retention_evicted: number;
  failed: number;
}

/** A purge of one target. */
export interface PurgedTarget {
  readonly target: string;
  readonly purged: number;
}

interface PurgeResult {
  readonly match: PurgeMatch;
  readonly results: readonly PurgedTarget[];
  readonly purged: number;
  readonly missing: number;
}

/** Publishes the events of one request. It never fails: publishing is best effort. */
export type PublishPurge = (result: PurgeResult, context: LogContext) => EventCounts;

const NOTHING: EventCounts = { attempted: 0, published: 0, retention_evicted: 0, failed: 0 };

/** Opens the ring that events are published into, if the location has one. */
export function openPurgeEvents(
  { eventsMode: mode, eventsZone: zone, eventsChannel: channel }: CachePurgeConfig,
  worker: WorkerScope,
): PublishPurge {
  if (zone === undefined || channel === undefined || mode === 'off') return () => ({ ...NOTHING });
  const ring = openRing(worker.zone(zone), worker.workerId);
  return (result, context) => {
    const counts = { ...NOTHING };
    for (const { type, payload } of eventsOf(result, mode)) {
      counts.attempted++;
      const published = ring.publish({ channel, type, payload });
      if (published) counts.published++;
      else counts.failed++;
      if (published?.evicted) counts.retention_evicted++;
    }
    if (counts.failed > 0)
      worker.log.write(
        'warn',
        `${counts.failed} events of a purge were not published on "${channel}": the ring is busy`,
        context,
      );
    return counts;
  };
}

function eventsOf(
  { match, results, purged, missing }: PurgeResult,
  mode: 'per_target' | 'summary',
): readonly { readonly type: string; readonly payload: string }[] {
  if (purged === 0) return [];
  if (mode === 'summary')
    return [
      { type: 'purge_batch', payload: JSON.stringify({ match, requested: results.length, purged, missing }) },
    ];
  return results
    .filter((result) => result.purged > 0)
    .map(({ target, purged: count }) => ({ type: 'purged', payload: payloadOf(match, target, count) }));
}

/** Returns the payload of an event, with only the beginning of a target that is too long. */
function payloadOf(match: PurgeMatch, target: string, purged: number): string {
  let characters = Array.from(target);
  for (;;) {
    const payload = JSON.stringify({ match, target: characters.join(''), purged });
    const excess = Buffer.byteLength(payload) - EVENT_LIMITS.payloadBytes;
    if (excess <= 0) return payload;
    characters = characters.slice(0, -Math.max(1, Math.ceil(excess / 6)));
  }
}
