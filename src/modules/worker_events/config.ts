import type { ComplexValue } from '../../config/index.ts';

/** `worker_events_*` of one location. */
export interface WorkerEventsConfig {
  readonly api?: true;
  readonly zone?: EventZone;
  readonly channel?: string;
  /** Entries; absent: `DEFAULT_RING_SIZE`. */
  readonly ringSize?: number;
  readonly publishKey?: ComplexValue;
  readonly stream: boolean;
}

/** `worker_events_zone name [size];` */
export interface EventZone {
  readonly name: string;
  readonly sizeBytes?: number;
}

/** What a location that answers has: validation refuses any other. */
export type EndpointConfig = WorkerEventsConfig & { readonly zone: EventZone; readonly channel: string };

/** Entries of a ring whose size is not configured. */
export const DEFAULT_RING_SIZE = 1024;
/** Entries; the zone's own limit in bytes is reached earlier. */
export const MAX_RING_SIZE = 1_048_576;
