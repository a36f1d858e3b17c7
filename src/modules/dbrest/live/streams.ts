import { setTimeout as sleep } from 'node:timers/promises';
import type { Build, LocationFacts } from '../../../contract/index.ts';
import {
  beginStream,
  dataLines,
  EventStream,
  type Feed,
  firstGeneration,
  type OpenStreams,
  prefersStream,
} from '../../../event-streams.ts';
import type { Exchange } from '../../../http/index.ts';
import type { OpenRequests } from '../../../zone/index.ts';
import type { Identity } from '../auth/index.ts';
import { readNotification, type RestDatabase, type RingNotification } from '../database/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { badStreamQuery, notListening, tooManyStreams } from '../fault/index.ts';
import type { ChangeFeed } from './change-feed.ts';
import { LiveReads, type LiveReadSteps } from './live-reads.ts';

/** The resources of the streams of a location, in one worker. */
export interface StreamResources {
  /** Counts the open ones of all workers. */
  readonly counts: OpenRequests;
  readonly open: OpenStreams;
  /** Present with `dbrest_listen`. */
  readonly notifications?: NotificationFrames | undefined;
  /** Present with `dbrest_live`. */
  readonly changes?: ChangeFeed | undefined;
}

/** The streams of events of one location. */
interface Streams {
  /** Returns whether a request asks for a stream that the location has. */
  wants(x: Exchange): boolean;
  /** Opens the stream. Rejects with a `DbrestFault`, or as reads do. */
  serve(x: Exchange, caller: { readonly identity: Identity }): Promise<void>;
}

/** Compiles `dbrest_listen` and `dbrest_live`; `undefined` where the location has neither. */
export function compileStreams(
  config: DbrestConfig,
  { streams, database, steps }: StreamParts,
  build: Build,
): Streams | undefined {
  if (!streams) return undefined;
  const { notifications, changes } = streams;
  const { listen = [] } = config;
  const askedBy = compileStreamTest(config, build.location);
  const live = changes && new LiveReads({ steps, config, database, feed: changes });
  const enter = compileEntrance(config, streams, build);
  build.needPeer();

  const open = async (x: Exchange, identity: Identity) => {
    await listening(database, x);
    return notifications && askedBy(x) === 'notifications'
      ? openNotifications(x, wantedChannels(x.args, listen), notifications)
      : live?.open(x, identity);
  };
  return {
    wants: (x) => askedBy(x) !== undefined,
    async serve(x, { identity }) {
      enter(x);
      const stream = await open(x, identity);
      if (stream) streams.open.add(stream, x);
    },
  };
}

/** Interval and number of the checks whether the gateway listens, which it does soon after a start. */
const LOOK_EVERY_MS = 50;
const LOOKS = 20;

/** Resolves when notifications are heard. Throws DBREST124 if that takes too long. */
async function listening(database: RestDatabase, x: Exchange): Promise<void> {
  for (let looks = 0; !database.isListening; looks += 1) {
    if (looks === LOOKS || x.aborted) throw notListening();
    await sleep(LOOK_EVERY_MS);
  }
}

interface StreamParts {
  readonly streams: StreamResources | undefined;
  readonly database: RestDatabase;
  readonly steps: LiveReadSteps;
}

/**
 * Compiles the function that returns which of the location's streams a request asks for. Notifications are at the root
 * of a prefix location, and at any path of another one.
 */
export function compileStreamTest(
  { live, listen = [] }: DbrestConfig,
  { kind, path }: LocationFacts,
): (x: Exchange) => 'notifications' | 'rows' | undefined {
  const isRoot =
    kind === 'prefix' ? (uri: string) => uri.slice(path.length).replace(/^\//, '') === '' : () => true;
  const hasNotifications = listen.length > 0;
  return (x) => {
    if ((x.method !== 'GET' && x.method !== 'HEAD') || !prefersStream(x.header('accept'))) return undefined;
    if (hasNotifications && isRoot(x.uri)) return 'notifications';
    return live && !(kind === 'prefix' && isRoot(x.uri)) ? 'rows' : undefined;
  };
}

/** Compiles the limits: a stream is counted until it ends. Throws DBREST123. */
function compileEntrance(
  { maxStreams, maxStreamsPerClient }: DbrestConfig,
  { counts }: StreamResources,
  { location: { place } }: Build,
): (x: Exchange) => void {
  const all = `${place} `;
  return (x) => {
    const own = `${place} ${x.remoteAddress}`;
    if (counts.enter(own, maxStreamsPerClient) !== 'counted') throw tooManyStreams('client');
    if (counts.enter(all, maxStreams) !== 'counted') {
      counts.leave(own);
      throw tooManyStreams('location');
    }
    x.onEnd(() => {
      counts.leave(own);
      counts.leave(all);
    });
  };
}

/** Most frames of a ring that are kept. A frame has at most some 8 KB. */
const MOST_KEPT = 1_024;

/** A notification in the form in which streams send it; without a channel it concerns all of them. */
interface Frame {
  readonly generation: number;
  readonly channel: string | undefined;
  readonly text: string;
}

/** The notifications of a ring as frames, which one worker makes once for all streams. */
export class NotificationFrames {
  readonly feed: Feed;
  readonly #kept: (Frame | undefined)[] = [];

  constructor(feed: Feed) {
    this.feed = feed;
  }

  /** Returns the frame at a generation; `undefined` as `StreamSource.frameOf`. */
  at(generation: number): Frame | undefined {
    const slot = generation % MOST_KEPT;
    const kept = this.#kept[slot];
    if (kept?.generation === generation) return kept;
    const read = readNotification(this.feed.ring, generation);
    return read && (this.#kept[slot] = { generation, ...frameOf(generation, read) });
  }
}

function frameOf(generation: number, read: RingNotification): Omit<Frame, 'generation'> {
  switch (read.kind) {
    case 'notification': {
      const { channel, payload } = read;
      return { channel, text: `id: ${generation}\nevent: ${channel}\n${dataLines(payload)}\n` };
    }
    case 'gap':
      // How many were missed is not known.
      return { channel: undefined, text: `id: ${generation}\nevent: dropped\ndata: {"dropped":null}\n\n` };
    case 'other':
      return { channel: undefined, text: '' };
  }
}

/** Reads `channel=` of a query, which may be repeated; without it all channels count. Throws DBREST125. */
function wantedChannels(args: string, channels: readonly string[]): ReadonlySet<string> {
  const wanted = new URLSearchParams(args).getAll('channel');
  const unknown = wanted.find((channel) => !channels.includes(channel));
  if (unknown !== undefined) throw badStreamQuery(`"${unknown}" is no channel of this location`);
  return new Set(wanted.length > 0 ? wanted : channels);
}

/**
 * Opens a stream of notifications. Returns `undefined` where no body is sent. Throws DBREST124 and DBREST125.
 */
function openNotifications(
  x: Exchange,
  channels: ReadonlySet<string>,
  frames: NotificationFrames,
): EventStream | undefined {
  const { feed } = frames;
  const range = feed.ring.range();
  if (!range) throw notListening();
  const lastId = x.header('last-event-id');
  if (lastId !== undefined && !/^\d{1,15}$/.test(lastId))
    throw badStreamQuery('Last-Event-ID is not the id of an event of this stream');
  const out = beginStream(x);
  if (!out) return undefined;
  const since = lastId === undefined ? undefined : Number(lastId);
  return new EventStream(feed, out, {
    from: firstGeneration(since, range.newest),
    frameOf(generation) {
      const frame = frames.at(generation);
      if (!frame) return undefined;
      return frame.channel === undefined || channels.has(frame.channel) ? frame.text : '';
    },
  });
}
