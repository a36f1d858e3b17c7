import type { Build } from '../../contract/index.ts';
import type { Exchange, Handler, KnowsHost, ResponseStream } from '../../http/index.ts';
import type { EndpointConfig } from './directives.ts';
import type { Feed, Follower } from './feed.ts';
import type { KeptEntry } from './kept-entries.ts';
import { isCount, readEventQuery, refuse, refuseBusy } from './query.ts';

/** Number of entries after which other requests are served. */
const BATCH = 256;
/** Characters sent in one write; an entry has at most a few thousand. */
const CHUNK = 16_384;
const COMMENT = ': keep-alive\n\n';

/** The entries that a stream sends; without a channel or type, all match. */
export interface StreamStart {
  /** The first generation that is sent. */
  readonly from: number;
  readonly channel: string | undefined;
  readonly type: string | undefined;
}

/**
 * One client that follows the ring. It keeps a position in the ring and no entries: a client that reads more slowly than events
 * are published uses no memory, and is told how many entries it missed.
 */
export class EventStream implements Follower {
  readonly #feed: Feed;
  readonly #out: ResponseStream;
  readonly #start: StreamStart;
  readonly #unfollow: () => void;
  #next: number;
  #blocked = false;
  #scheduled = false;
  #ended = false;

  constructor(feed: Feed, out: ResponseStream, start: StreamStart) {
    this.#feed = feed;
    this.#out = out;
    this.#start = start;
    this.#next = start.from;
    this.#unfollow = feed.follow(this);
    // The head of the response is sent with the first byte of its body.
    this.#write(COMMENT);
    this.wake();
  }

  wake(): void {
    if (this.#ended || this.#blocked || this.#scheduled) return;
    const { text, more } = this.#collect();
    if (text !== '') this.#write(text);
    if (!more) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.wake();
    });
  }

  beat(): void {
    if (!this.#ended && !this.#blocked) this.#write(COMMENT);
  }

  /** Ends the response; may also be called after the client has left. */
  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unfollow();
    this.#out.end();
  }

  /** Gives the text of the next entries, up to a limit; `more` if the ring has further ones. */
  #collect(): { text: string; more: boolean } {
    let text = '';
    for (let looked = 0; looked < BATCH && text.length < CHUNK; looked++) {
      const range = this.#feed.ring.range();
      // A publisher is changing the header; it wakes this stream afterwards.
      if (!range) return { text, more: false };
      if (this.#next < range.oldest) {
        text += droppedText(range.oldest - this.#next);
        this.#next = range.oldest;
      }
      if (this.#next > range.newest) return { text, more: false };
      const entry = this.#feed.entries.entry(this.#next);
      if (entry) {
        if (this.#wants(entry)) text += entry.frame;
        this.#next++;
      } else if (!this.#isGone()) {
        // A publisher is overwriting the entry; it wakes this stream afterwards.
        return { text, more: false };
      }
    }
    return { text, more: true };
  }

  #isGone(): boolean {
    const range = this.#feed.ring.range();
    return range !== undefined && this.#next < range.oldest;
  }

  #wants(entry: KeptEntry): boolean {
    const { channel, type } = this.#start;
    return (
      (channel === undefined || entry.channel === channel) && (type === undefined || entry.type === type)
    );
  }

  #write(text: string): void {
    if (this.#out.write(text)) return;
    this.#blocked = true;
    void this.#out.drained().then(() => {
      this.#blocked = false;
      this.wake();
    });
  }
}

function droppedText(count: number): string {
  return `event: dropped\ndata: {"dropped":${count}}\n\n`;
}

/** The open streams of one configuration. They have no end of their own, so they are ended when the configuration retires. */
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
  /** Tells whether a server is configured for a name. */
  readonly knowsHost: KnowsHost;
}

/** Compiles GET with `Accept: text/event-stream`: sends entries as server-sent events when they are published. */
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

    x.response.setHeader('Cache-Control', 'no-cache');
    // Otherwise nginx in front of gw would buffer the entries.
    x.response.setHeader('X-Accel-Buffering', 'no');
    const out = x.stream(200, 'text/event-stream');
    if (!out) return;
    const since = lastId === undefined ? query.since : Number(lastId);
    streams.add(new EventStream(feed, out, { ...query, from: firstGeneration(since, range.newest) }), x);
  };
}

/**
 * Gives the first generation to send. A generation greater than the newest comes from before a restart: then all entries are
 * sent.
 */
function firstGeneration(since: number | undefined, newest: number): number {
  if (since === undefined) return newest + 1;
  return since > newest ? 1 : since + 1;
}

/** Tells whether a client prefers a stream to JSON; a wildcard means JSON. */
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
