import type { Build } from '../../contract/index.ts';
import type { Exchange, Handler, KnowsHost } from '../../http/index.ts';
import { refuse, refuseBusy } from './answer.ts';
import type { EndpointConfig } from './config.ts';
import { EventStream } from './event-stream.ts';
import type { Feed } from './feed.ts';
import { isCount, readEventQuery } from './query.ts';

/** The open streams of one configuration: they would never end by themselves, so they end when it retires. */
export class OpenStreams {
  readonly #streams = new Set<EventStream>();
  readonly #retiring: AbortSignal;

  constructor(retiring: AbortSignal) {
    this.#retiring = retiring;
    retiring.addEventListener('abort', () => this.#close(), { once: true });
  }

  add(stream: EventStream, x: Exchange): void {
    if (this.#retiring.aborted) return stream.close();
    this.#streams.add(stream);
    x.onAbort(() => {
      this.#streams.delete(stream);
      stream.close();
    });
  }

  #close(): void {
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
  }
}

/** What the endpoints of one configuration use in one worker. */
export interface StreamResources {
  readonly feed: Feed;
  readonly streams: OpenStreams;
  /** Whether a server is configured for a name. */
  readonly knowsHost: KnowsHost;
}

/** GET with `Accept: text/event-stream`: entries as server-sent events, as they are published. */
export function compileStream(config: EndpointConfig, resources: StreamResources, build: Build): Handler {
  const { feed, streams } = resources;
  build.needHeader('last-event-id');
  return (x: Exchange) => {
    const query = readEventQuery(x.args, config.channel);
    if (typeof query === 'string') return refuse(x, 400, query);
    const lastId = x.header('last-event-id');
    if (lastId !== undefined && !isCount(lastId)) {
      return refuse(x, 400, 'last-event-id must be a non-negative integer');
    }
    const range = feed.ring.range();
    if (!range) return refuseBusy(x);

    x.setHeader('Cache-Control', 'no-cache');
    // nginx in front would hold the entries back.
    x.setHeader('X-Accel-Buffering', 'no');
    const out = x.stream(200, 'text/event-stream');
    if (!out) return;
    const since = lastId === undefined ? query.since : Number(lastId);
    streams.add(new EventStream(feed, out, { ...query, from: firstGeneration(since, range.newest) }), x);
  };
}

/**
 * A generation that was never published comes from before a restart: all of the new ring is new to that
 * client.
 */
function firstGeneration(since: number | undefined, newest: number): number {
  if (since === undefined) return newest + 1;
  return since > newest ? 1 : since + 1;
}

/** True when a client asks for a stream, and not rather for JSON; a wildcard means JSON. */
export function prefersStream(accept: string | undefined): boolean {
  if (accept === undefined || !/event-stream/i.test(accept)) return false;
  const streamQuality = qualityOf('text/event-stream', accept);
  return streamQuality > 0 && streamQuality > qualityOf('application/json', accept);
}

function qualityOf(type: string, accept: string): number {
  for (const range of accept.toLowerCase().split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim());
    if (name !== type) continue;
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
  }
  return 0;
}
