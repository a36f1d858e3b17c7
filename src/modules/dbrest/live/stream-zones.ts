import type { WorkerScope, ZoneNeed } from '../../../contract/index.ts';
import { Feed, OpenStreams } from '../../../event-streams.ts';
import {
  type Labels,
  type Metric,
  openOpenRequests,
  openRing,
  type Ring,
  zoneIdentity,
} from '../../../zone/index.ts';
import { ChangeFeed } from './change-feed.ts';
import {
  DEFAULT_LISTEN_ENTRIES,
  type DbrestConfig,
  type LiveConfig,
  type DbrestPass,
  identityOf,
  CHANGES_CHANNEL,
} from '../directives/index.ts';
import type { Channels } from '../database/index.ts';
import { NotificationFrames, type StreamResources } from './streams.ts';

/** The shared memory of a location whose clients follow events. */
export function zonesOf(config: DbrestConfig): readonly ZoneNeed<DbrestConfig>[] {
  const { pass, live, listenZone } = config;
  if (!pass || !hasStreams(config)) return [];
  const needs: ZoneNeed<DbrestConfig>[] = [
    {
      zone: { name: STREAMS_ZONE, kind: 'connection limit', sizeBytes: STREAMS_BYTES, key: STREAMS_ZONE },
      field: live ? 'live' : 'listen',
    },
  ];
  const ring = (name: string, capacity: number) => ({ name, kind: 'ring', capacity }) as const;
  if (live) needs.push({ zone: ring(changesZone(pass), CHANGES_ENTRIES), field: 'live' });
  const { entries = DEFAULT_LISTEN_ENTRIES } = listenZone ?? {};
  if (config.listen?.length)
    needs.push({
      zone: ring(listenedZone(config, pass), entries),
      field: listenZone ? 'listenZone' : 'listen',
    });
  return needs;
}

function hasStreams({ live, listen = [] }: LiveConfig): boolean {
  return live || listen.length > 0;
}

/** The open streams of all locations; a client of a location takes two cells of some hundred bytes in each worker. */
const STREAMS_ZONE = 'dbrest streams';
const STREAMS_BYTES = 8 * 1_048_576;
/** Announcements that are kept for workers that are busy: some seconds of a busy database. */
const CHANGES_ENTRIES = 8_192;

const changesZone = (pass: DbrestPass): string => `dbrest changes ${identityOf(pass)}`;
const listenedZone = ({ listenZone }: LiveConfig, pass: DbrestPass): string =>
  listenZone?.name ?? `dbrest notifications ${identityOf(pass)}`;

interface StreamDatabase {
  readonly pass: DbrestPass;
  /** The name in metrics. */
  readonly name: string;
  readonly channels: Channels;
}

/** Opens the resources of the streams of a location; `undefined` where it has none. */
export function openStreams(
  config: LiveConfig,
  { pass, name, channels }: StreamDatabase,
  worker: WorkerScope,
): StreamResources | undefined {
  if (!hasStreams(config)) return undefined;
  const { live, listen = [] } = config;
  const notifications =
    listen.length > 0 ? openNotifications(listenedZone(config, pass), name, worker) : undefined;
  const changes = live ? openChanges(changesZone(pass), name, worker) : undefined;
  const hear = (channel: string, ring: Ring): void =>
    void worker.own(channels.add(channel, ring), (end) => end());
  if (notifications) for (const channel of listen) hear(channel, notifications.feed.ring);
  if (changes) hear(CHANGES_CHANNEL, changes.ring);
  const counts = openOpenRequests(worker.zone(STREAMS_ZONE), worker.workerId);
  return { counts, open: new OpenStreams(worker.retiring), notifications, changes };
}

function openNotifications(zone: string, database: string, worker: WorkerScope): NotificationFrames {
  const buffer = worker.zone(zone);
  const frames = worker.share(
    `dbrest notifications ${zoneIdentity(buffer)}`,
    () => new NotificationFrames(new Feed(openRing(buffer, worker.workerId))),
    ({ feed }) => feed.close(),
  );
  show(worker, STREAMS, { labels: { database, follows: 'notifications' }, read: () => frames.feed.size });
  return frames;
}

function openChanges(zone: string, database: string, worker: WorkerScope): ChangeFeed {
  const buffer = worker.zone(zone);
  const feed = worker.share(
    `dbrest changes ${zoneIdentity(buffer)}`,
    () => new ChangeFeed(openRing(buffer, worker.workerId), zoneIdentity(buffer)),
    (opened) => opened.close(),
  );
  show(worker, STREAMS, { labels: { database, follows: 'rows' }, read: () => feed.heartbeat.size });
  show(worker, READS, { labels: { database }, read: () => feed.size });
  show(worker, ROWS, { labels: { database }, read: () => feed.known });
  return feed;
}

const STREAMS = { name: 'gw_dbrest_streams', help: 'Open streams of events.' };
const READS = { name: 'gw_dbrest_followed_reads', help: 'Reads that streams follow.' };
const ROWS = { name: 'gw_dbrest_followed_rows', help: 'Rows that followed reads keep track of.' };

/** Samples a number of one worker. All locations that share what is counted show the same. */
function show(
  worker: WorkerScope,
  metric: Metric,
  { labels, read }: { readonly labels: Labels; readonly read: () => number },
): void {
  worker.share(
    `${metric.name} ${JSON.stringify(labels)}`,
    () => worker.metrics.sample(metric, labels, read),
    (end) => end(),
  );
}
