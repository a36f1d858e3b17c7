import type { Word } from '../../../grammar/index.ts';
import {
  type ComplexValue,
  constantText,
  directivesFor,
  readers,
  type ReadScope,
  shares,
  uses,
} from '../../config/index.ts';
import type { LocationMatch } from '../../contract/index.ts';
import { MAX_RING_ENTRIES } from '../../zone/index.ts';

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

/** `worker_events_zone name [size] [cluster=name[:ack]];` */
export interface EventZone {
  readonly name: string;
  readonly sizeBytes?: number;
  readonly cluster?: EventCluster;
}

/** The cluster that shares the events of a zone. */
interface EventCluster {
  readonly name: string;
  /** A publish waits until the store has the event. */
  readonly acknowledged: boolean;
}

/** The configuration of a valid endpoint: validation has checked that it has a zone and a channel. */
export type EndpointConfig = WorkerEventsConfig & { readonly zone: EventZone; readonly channel: string };

/** Entries of a ring whose size is not configured. */
export const DEFAULT_RING_SIZE = 1024;

/** The second or the third word may give the name of a cluster. */
const CLUSTER_NAMES = [1, 2].flatMap((word) => uses('cluster', { word, behind: ['cluster='], until: ':' }));

/** The directives of worker events. */
export const directives = directivesFor<WorkerEventsConfig>()({
  worker_events_api: {
    contexts: ['location'],
    args: readers.present,
    into: 'api',
    inherit: 'nameless',
    summary:
      'Serves a ring of events in shared memory: responds with its events, publishes into it, and streams it.',
    source: 'gw',
  },
  worker_events_zone: {
    contexts: ['location'],
    args: readers.words({ syntax: 'name [size] [cluster=name[:ack]]', min: 1, max: 3 }, readZone),
    into: 'zone',
    summary:
      'The shared memory for the ring; all locations with the same name share it. Without a size it is as large as the ring needs; a smaller size is a fault. With "cluster" its events are those of all gateways of the cluster; with ":ack" a publish gets its response when the store of the cluster has the event, else with 503.',
    roles: [...shares('event ring'), ...CLUSTER_NAMES],
    source: 'gw',
  },
  worker_events_channel: {
    contexts: ['location'],
    args: readers.text,
    into: 'channel',
    summary:
      'The channel under which this location publishes, and whose events it shows by default; 1 to 64 bytes.',
    source: 'gw',
  },
  worker_events_ring_size: {
    contexts: ['location'],
    args: readers.integer({ min: 1, max: MAX_RING_ENTRIES }),
    into: 'ringSize',
    defaultText: String(DEFAULT_RING_SIZE),
    summary: `Number of events that the ring keeps, 1 to ${MAX_RING_ENTRIES}; a new event then overwrites the oldest. Each takes 704 bytes of shared memory, and a ring has at most 256 MB.`,
    source: 'gw',
  },
  worker_events_publish_key: {
    contexts: ['location'],
    args: readers.value,
    into: 'publishKey',
    secret: 'whole',
    summary: 'The secret that a POST must contain, in the header "X-Publish-Key" or in the parameter "key".',
    source: 'gw',
  },
  worker_events_stream: {
    contexts: ['location'],
    args: readers.flag,
    into: 'stream',
    default: true,
    defaultText: 'on',
    summary: 'Streams new events in response to a GET that accepts "text/event-stream".',
    source: 'gw',
  },
});

function readZone(words: readonly Word[], scope: ReadScope): EventZone {
  const [name, ...more] = words as [Word, ...Word[]];
  if (name.value === '') scope.report.emerg('invalid zone name ""', name.span);
  const shared = more.find(({ value }) => value.startsWith('cluster='));
  const [size, unknown] = more.filter((word) => word !== shared);
  if (unknown) scope.report.emerg(`invalid parameter "${unknown.value}"`, unknown.span);
  const sizeBytes = size && readers.size.read([size], scope);
  const cluster = shared && readCluster(shared, scope);
  return { name: name.value, ...(sizeBytes !== undefined && { sizeBytes }), ...(cluster && { cluster }) };
}

function readCluster({ value, span }: Word, { report }: ReadScope): EventCluster | undefined {
  const [, name = '', suffix] = /^cluster=([^:]*)(?::(.*))?$/s.exec(value) ?? [];
  if (name !== '' && (suffix === undefined || suffix === 'ack'))
    return { name, acknowledged: suffix === 'ack' };
  report.emerg(`invalid parameter "${value}"`, span, 'expected cluster=name or cluster=name:ack');
  return undefined;
}

/** The values that a command needs to call an endpoint. */
export interface EventsEndpoint {
  readonly path: string;
  /** Absent: no key is needed, or it depends on variables. */
  readonly publishKey?: string;
}

/** Returns the endpoint of a location; `undefined` if it has none or its path is not fixed. */
export function eventsEndpoint(
  { api, publishKey }: Partial<WorkerEventsConfig>,
  match: LocationMatch | undefined,
): EventsEndpoint | undefined {
  if (api !== true || (match?.kind !== 'prefix' && match?.kind !== 'exact')) return undefined;
  const key = publishKey && constantText(publishKey);
  return { path: match.path, ...(key !== undefined && { publishKey: key }) };
}
