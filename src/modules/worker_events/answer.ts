import type { Exchange } from '../../http/index.ts';
import type { RingEntry } from '../../zone/index.ts';

/** An answer of this module that is not a success; `error` says what is wrong. */
export function refuse(x: Exchange, status: number, error: string): void {
  x.send(
    status,
    'application/json',
    `{"module":"worker_events","status":"error","error":${JSON.stringify(error)}}`,
  );
}

/** The zone's lock was not to be had: nothing happened, and the next try may succeed. */
export function refuseBusy(x: Exchange): void {
  x.setHeader('Retry-After', '1');
  refuse(x, 503, 'the ring is busy');
}

/** An entry as it stands in `events` and in a stream. */
export function entryJson({ generation, channel, type, payload, timestampMs }: RingEntry): string {
  return (
    `{"generation":${generation},"channel":${JSON.stringify(channel)},"type":${JSON.stringify(type)},` +
    `"payload":${JSON.stringify(payload)},"timestamp":${timestampMs}}`
  );
}
