import { setTimeout as sleep } from 'node:timers/promises';
import type { Build, LocationFacts } from '../../../contract/index.ts';
import { type OpenStreams, prefersStream } from '../../../event-streams.ts';
import type { Exchange } from '../../../http/index.ts';
import type { OpenRequests } from '../../../zone/index.ts';
import type { Identity } from '../auth/index.ts';
import type { ChangeFeed } from './change-feed.ts';
import { LiveReads, type LiveReadSteps } from './live-reads.ts';
import type { RestDatabase } from '../database/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { notListening, tooManyStreams } from '../fault/index.ts';
import { type NotificationFrames, openNotifications, wantedChannels } from './notifications.ts';

/** What the streams of a location use in one worker. */
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
  /** Tells whether a request asks for a stream that the location has. */
  wants(x: Exchange): boolean;
  /** Opens it. Rejects with a `DbrestFault`, or as reads do. */
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

/** How often, and how many times, a stream looks whether the gateway listens: at a start it is soon to. */
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
 * Compiles the test which stream a request asks for, of those that the location has. Notifications are at the root of a prefix
 * location, and at any path of another one.
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
