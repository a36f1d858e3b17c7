import type { Gateway } from '../../harness/gateway.ts';
import type { ReceivedResponse, CallInit } from '../../harness/http.ts';

/** A location that serves the endpoint of zone `bus` and channel `cache.invalidate`. */
export function endpoint(more = '', path = '/events'): string {
  return `location ${path} {
    worker_events_api;
    worker_events_zone bus;
    worker_events_channel cache.invalidate;
    ${more}
  }`;
}

export interface ShownEvent {
  readonly generation: number;
  readonly channel: string;
  readonly type: string;
  readonly payload: string | null;
  readonly timestamp: number;
}

export interface Inspected {
  readonly capacity: number;
  readonly oldest_generation: number;
  readonly newest_generation: number;
  readonly dropped_events: number;
  readonly last_publish_msec: number;
  readonly events: readonly ShownEvent[];
}

/** POSTs a body as JSON; an object is stringified. */
export function publish(
  gw: Gateway,
  body: unknown,
  { path = '/events', ...init }: PublishInit = {},
): Promise<ReceivedResponse> {
  const headers = { 'content-type': 'application/json', ...init.headers };
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  return gw.fetch(path, { method: 'POST', ...init, headers, body: text });
}

type PublishInit = CallInit & { path?: string };

export async function inspect(gw: Gateway, path = '/events'): Promise<Inspected> {
  return JSON.parse((await gw.fetch(path)).body) as Inspected;
}
