import type { WorkerScope } from '../../contract/index.ts';
import { openRing } from '../../zone/index.ts';

/** An event of a group. */
type GroupEvent =
  | {
      readonly type: 'snapshot_activated' | 'snapshot_restored';
      readonly payload: { target: string; source: string; generation: number; peer_count: number };
    }
  | {
      readonly type: 'refresh_failed';
      readonly payload: { target: string; source: string; error_code: number };
    }
  | {
      readonly type: 'peer_draining' | 'peer_undrained';
      readonly payload: { target: string; address: string; drain_count: number; generation: number };
    };

/** Publishes an event. It never fails: publishing is best effort. */
export type Publish = (event: GroupEvent) => void;

/** Opens the ring that events are published into, if the location has one. */
export function openEvents(
  { zone, channel }: { zone: string | undefined; channel: string | undefined },
  worker: WorkerScope,
): Publish {
  if (zone === undefined || channel === undefined) return () => undefined;
  const ring = openRing(worker.zone(zone), worker.workerId);
  return ({ type, payload }) => {
    try {
      ring.publish({ channel, type, payload: JSON.stringify(payload) });
    } catch (error) {
      worker.log.write('warn', `event "${type}" was not published: ${(error as Error).message}`);
    }
  };
}
