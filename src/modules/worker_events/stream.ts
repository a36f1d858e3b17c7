import type { OpenCluster } from '../../cluster/index.ts';
import type { Build } from '../../contract/index.ts';
import {
  beginStream,
  EventStream,
  type Feed,
  firstGeneration,
  type OpenStreams,
} from '../../event-streams.ts';
import type { Exchange, Handler, KnowsHost } from '../../http/index.ts';
import type { EndpointConfig } from './directives.ts';
import type { KeptEntries } from './kept-entries.ts';
import { compileSince, readEventQuery, refuse, refuseBusy } from './query.ts';

/** The entries that a stream sends; without a channel or type, all match. */
interface Selection {
  readonly channel: string | undefined;
  readonly type: string | undefined;
}

/** Returns the text of each entry of a ring that matches, as `StreamSource.frameOf`. */
export function framesOf(
  entries: KeptEntries,
  { channel, type }: Selection,
): (generation: number) => string | undefined {
  return (generation) => {
    const entry = entries.entry(generation);
    if (!entry) return undefined;
    const isWanted =
      (channel === undefined || entry.channel === channel) && (type === undefined || entry.type === type);
    return isWanted ? entry.frame : '';
  };
}

/** The resources of the endpoints of one configuration in one worker. */
export interface StreamResources {
  readonly feed: Feed;
  readonly entries: KeptEntries;
  /** Shares the events of the ring with other gateways. */
  readonly cluster: OpenCluster | undefined;
  readonly streams: OpenStreams;
  /** Tells whether a server is configured for a name. */
  readonly knowsHost: KnowsHost;
}

/** Compiles GET with `Accept: text/event-stream`: sends entries as server-sent events when they are published. */
export function compileStream(config: EndpointConfig, resources: StreamResources, build: Build): Handler {
  const { feed, entries, streams } = resources;
  const sinceOf = compileSince(entries.ids);
  const scope = { channel: config.channel, sinceOf };
  build.needHeader('last-event-id');
  return (x: Exchange) => {
    const query = readEventQuery(x.args, scope);
    if (typeof query === 'string') return refuse(x, 400, query);
    const lastId = x.header('last-event-id');
    const seen = lastId === undefined ? query.since : sinceOf(lastId);
    if (lastId !== undefined && seen === undefined) {
      return refuse(x, 400, 'last-event-id must be a non-negative integer');
    }
    const range = feed.ring.range();
    if (!range) return refuseBusy(x);

    const out = beginStream(x);
    if (!out) return;
    const source = { from: firstGeneration(seen, range.newest), frameOf: framesOf(entries, query) };
    streams.add(new EventStream(feed, out, source), x);
  };
}
