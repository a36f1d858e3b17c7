import { constantText } from '../../config/index.ts';
import {
  type Build,
  type ConfigReport,
  type ExplainedAction,
  type ExplainedFact,
  type ModuleExplanation,
  moduleFor,
  type Explainer,
  type WorkerScope,
} from '../../contract/index.ts';
import type { OpenCluster } from '../../cluster/index.ts';
import { Feed, OpenStreams, prefersStream } from '../../event-streams.ts';
import type { Exchange, Handler } from '../../http/index.ts';
import {
  type Counters,
  EVENT_LIMITS,
  openRing,
  type Ring,
  type RingDeclaration,
  zoneIdentity,
} from '../../zone/index.ts';
import {
  DEFAULT_RING_SIZE,
  directives,
  type EndpointConfig,
  type EventZone,
  type WorkerEventsConfig,
} from './directives.ts';
import { compileKeyCheck, compilePublish } from './publish.ts';
import { KeptEntries, type Page } from './kept-entries.ts';
import { compileSince, readEventQuery, refuse, refuseBusy } from './query.ts';
import { SharedIds } from './shared-ids.ts';
import { compileStream, type StreamResources } from './stream.ts';

export { eventsEndpoint, type EventsEndpoint } from './directives.ts';

/** Longest response that is kept for the same request, in characters. */
const LONGEST_REPEATED = 1_048_576;

/** Compiles GET and HEAD: the ring's state and the entries that the query selects. */
export function compileInspect({ zone, channel }: EndpointConfig, entries: KeptEntries): Handler {
  const start = `{"module":"worker_events","zone":${JSON.stringify(zone.name)},"channel":`;
  const scope = { channel, sinceOf: compileSince(entries.ids) };
  // Clients that poll repeat the same request, mostly without a new event in between.
  let last = { args: '', oldest: -1, newest: -1, body: '' };
  return (x: Exchange) => {
    const range = entries.ring.range();
    if (range?.newest === last.newest && range.oldest === last.oldest && x.args === last.args)
      return x.send(200, 'application/json', last.body);
    const query = readEventQuery(x.args, scope);
    if (typeof query === 'string') return refuse(x, 400, query);
    const page = entries.page({ ...query, since: query.since ?? 0 });
    if (!page) return refuseBusy(x);
    const body = `${start}${JSON.stringify(query.channel ?? '')}${pageJson(page)}`;
    if (body.length <= LONGEST_REPEATED) {
      const { oldestGeneration, newestGeneration } = page.facts;
      last = { args: x.args, oldest: oldestGeneration, newest: newestGeneration, body };
    }
    x.send(200, 'application/json', body);
  };
}

function pageJson({ facts, entries }: Page): string {
  return (
    `,"capacity":${facts.capacity},"oldest_generation":${facts.oldestGeneration},` +
    `"newest_generation":${facts.newestGeneration},"dropped_events":${facts.droppedEvents},` +
    `"last_publish_msec":${facts.lastPublishMs},"events":[${entries}]}`
  );
}

const PUBLISHED = { name: 'gw_events_published_total', help: 'Events that were published into a ring.' };
const DROPPED = { name: 'gw_events_dropped_total', help: 'Events that later ones have overwritten.' };

/** Adds a metric for the number of events published, which is the ring's generation. Gives a function that removes it. */
function showRing(metrics: Counters, zone: string, ring: Ring): () => void {
  const labels = { zone };
  const ends = [
    metrics.collect('counter', { metric: PUBLISHED, labels, read: () => ring.range()?.newest ?? NaN }),
    metrics.collect('counter', { metric: DROPPED, labels, read: () => (ring.range()?.oldest ?? NaN) - 1 }),
  ];
  return () => {
    for (const end of ends) end();
  };
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

/** Explains which of the endpoint's three operations a request would use. */
const explanation: ModuleExplanation<WorkerEventsConfig, StreamResources> = {
  explain: (config, _resources, build) => ({ content: tellEndpoint(config as EndpointConfig, build) }),
};

function tellEndpoint(config: EndpointConfig, build: Build): Explainer {
  const { zone, channel, ringSize = DEFAULT_RING_SIZE, publishKey } = config;
  const mayPublish = publishKey ? compileKeyCheck(publishKey, build) : () => true;
  const facts: readonly ExplainedFact[] = [
    { label: 'zone', value: `${zone.name}, ${ringSize} events` },
    { label: 'channel', value: channel },
    ...(zone.cluster ? [clusterFact(zone.cluster)] : []),
  ];
  return (x): ExplainedAction | undefined => {
    if (!METHODS.has(x.method)) {
      x.response.setHeader('Allow', 'GET, HEAD, POST');
      refuse(x, 405, 'method not allowed');
      return undefined;
    }
    if (x.method !== 'POST') {
      const streams = config.stream && prefersStream(x.header('accept'));
      return {
        does: streams ? 'streams events as they are published' : 'shows the events of the ring',
        facts,
        unknown: 'the events',
      };
    }
    if (!mayPublish(x)) {
      refuse(x, 401, 'unauthorized: the publish key is missing or wrong');
      return undefined;
    }
    const key = publishKey ? 'the publish key is right' : 'no publish key is asked for';
    return { does: 'publishes the event in the body', facts: [...facts, { label: 'key', value: key }] };
  };
}

function clusterFact({ name, acknowledged }: NonNullable<EventZone['cluster']>): ExplainedFact {
  return { label: 'cluster', value: acknowledged ? `${name}, whose store confirms what is published` : name };
}

/** Worker events: a ring of notifications in shared memory, which are published, read and streamed over HTTP. */
export const workerEvents = moduleFor<WorkerEventsConfig>()<StreamResources>({
  name: 'worker_events',
  summary: 'Events that all workers see, published and streamed.',
  directives,
  content: 'api',
  enabled: ({ api }) => api === true,
  validate,

  sensitive: ({ publishKey }) =>
    publishKey === undefined ? { rule: 'events-publish-open', field: 'api', methods: ['POST'] } : undefined,

  zones: ({ zone, ringSize }) =>
    zone === undefined
      ? []
      : [
          {
            zone: ringOf(zone, ringSize),
            field: ringSize === undefined ? 'zone' : 'ringSize',
          },
        ],

  uses: ({ zone }) => (zone?.cluster ? [{ kind: 'cluster', name: zone.cluster.name, field: 'zone' }] : []),

  provision(config, worker) {
    const { zone } = config as EndpointConfig;
    const buffer = worker.zone(zone.name);
    const cluster = zone.cluster && worker.clusters.get(zone.cluster.name);
    // Shared by identity: a zone of the same name may have been replaced meanwhile.
    const { feed, entries } = worker.share(
      `worker_events ${zoneIdentity(buffer)} ${cluster?.key ?? ''}`,
      () => openRingOf(zone.name, { buffer, worker, cluster }),
      ({ feed: opened, unshare }) => {
        unshare?.();
        opened.close();
      },
    );
    worker.own(showRing(worker.metrics, zone.name, feed.ring), (end) => end());
    const knowsHost = (host: string): boolean => worker.view.knowsHost(host);
    return { feed, entries, cluster, streams: new OpenStreams(worker.retiring), knowsHost };
  },

  compile: (config, resources, build) => ({
    content: compileEndpoint(config as EndpointConfig, resources, build),
    tooLarge: (x) => refuse(x, 413, 'the body is too large'),
  }),
  explanation,
  rules: () => import('./rules.ts'),
});

function ringOf({ name, sizeBytes, cluster }: EventZone, capacity = DEFAULT_RING_SIZE): RingDeclaration {
  return {
    name,
    kind: 'ring',
    capacity,
    ...(sizeBytes !== undefined && { sizeBytes }),
    ...(cluster ? { cluster: cluster.name } : { isCarried: true }),
  };
}

interface RingParts {
  readonly buffer: SharedArrayBuffer;
  readonly worker: WorkerScope;
  readonly cluster: OpenCluster | undefined;
}

/** A ring as one worker uses it. `unshare` is present if it is shared with other gateways. */
interface OpenRing {
  readonly feed: Feed;
  readonly entries: KeptEntries;
  readonly unshare: (() => void) | undefined;
}

function openRingOf(zone: string, { buffer, worker, cluster }: RingParts): OpenRing {
  const ring = openRing(buffer, worker.workerId);
  // Events published now must not be sent to other gateways if a later configuration shares the ring.
  if (!cluster) worker.onServing(() => ring.sharedFrom !== 0 && ring.unshare());
  const ids = cluster && new SharedIds(ring, cluster, zoneIdentity(buffer));
  const unshare = cluster?.events.share(zone, ring, buffer);
  return { feed: new Feed(ring), entries: new KeptEntries(ring, ids), unshare };
}

const ZONE_MISSING = { rule: 'events-zone-missing' };

function validate(config: WorkerEventsConfig, report: ConfigReport<WorkerEventsConfig>): void {
  const { zone, channel, publishKey } = config;
  if (zone === undefined) report.on('api', 'requires "worker_events_zone"', ZONE_MISSING);
  if (channel === undefined) report.on('api', 'requires "worker_events_channel"', ZONE_MISSING);
  else checkChannel(channel, report);
  if (publishKey && constantText(publishKey) === '') report.on('publishKey', 'must not be empty');
}

function checkChannel(channel: string, report: ConfigReport<WorkerEventsConfig>): void {
  const bytes = Buffer.byteLength(channel);
  if (bytes === 0) report.on('channel', 'must not be empty');
  if (bytes > EVENT_LIMITS.channelBytes) {
    report.on('channel', `exceeds ${EVENT_LIMITS.channelBytes} bytes, ${bytes} given`);
  }
}

function compileEndpoint(config: EndpointConfig, resources: StreamResources, build: Build): Handler {
  const inspect = compileInspect(config, resources.entries);
  const publish = compilePublish(config, { ...resources, ring: resources.feed.ring }, build);
  const read = config.stream ? compileRead(inspect, compileStream(config, resources, build), build) : inspect;
  return (x) => {
    switch (x.method) {
      case 'GET':
      case 'HEAD':
        return read(x);
      case 'POST':
        return publish(x);
      default:
        x.response.setHeader('Allow', 'GET, HEAD, POST');
        return refuse(x, 405, 'method not allowed');
    }
  };
}

function compileRead(inspect: Handler, stream: Handler, build: Build): Handler {
  build.needHeader('accept');
  return (x) => (prefersStream(x.header('accept')) ? stream(x) : inspect(x));
}
