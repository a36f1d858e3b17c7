import { constantText } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import type { Build, ConfigReport } from '../../contract/index.ts';
import type { Handler } from '../../http/index.ts';
import { EVENT_LIMITS, openRing, zoneIdentity } from '../../zone/index.ts';
import { refuse } from './answer.ts';
import { DEFAULT_RING_SIZE } from './config.ts';
import type { EndpointConfig, WorkerEventsConfig } from './config.ts';
import { directives } from './directives.ts';
import { explanation } from './explanation.ts';
import { Feed } from './feed.ts';
import { compileInspect } from './inspect.ts';
import { showRing } from './metrics.ts';
import { compilePublish } from './publish.ts';
import { OpenStreams, compileStream, prefersStream } from './stream.ts';
import type { StreamResources } from './stream.ts';

export { eventsFacts } from './facts.ts';
export type { EventsFacts } from './facts.ts';

/** Worker events: a ring of notifications in shared memory, published, shown and streamed over HTTP. */
export const workerEvents = moduleFor<WorkerEventsConfig>()<StreamResources>({
  name: 'worker_events',
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
            zone: { ...zone, kind: 'ring', capacity: ringSize ?? DEFAULT_RING_SIZE },
            field: ringSize === undefined ? 'zone' : 'ringSize',
          },
        ],

  provision(config, worker) {
    const buffer = worker.zone((config as EndpointConfig).zone.name);
    // By identity: a zone of the same name may have come and gone meanwhile.
    const feed = worker.share(
      `worker_events ${zoneIdentity(buffer)}`,
      () => new Feed(openRing(buffer, worker.workerId)),
      (opened) => opened.close(),
    );
    worker.own(showRing(worker.metrics, (config as EndpointConfig).zone.name, feed.ring), (end) => end());
    const knowsHost = (host: string): boolean => worker.view.knowsHost(host);
    return { feed, streams: new OpenStreams(worker.retiring), knowsHost };
  },

  compile: (config, resources, build) => ({
    content: compileEndpoint(config as EndpointConfig, resources, build),
    tooLarge: (x) => refuse(x, 413, 'the body is too large'),
  }),
  explanation,
});

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
  const inspect = compileInspect(config, resources.feed.ring);
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
        x.setHeader('Allow', 'GET, HEAD, POST');
        return refuse(x, 405, 'method not allowed');
    }
  };
}

function compileRead(inspect: Handler, stream: Handler, build: Build): Handler {
  build.needHeader('accept');
  return (x) => (prefersStream(x.header('accept')) ? stream(x) : inspect(x));
}
