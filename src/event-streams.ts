import { type Exchange, headSent, type ResponseStream } from './http/index.ts';
import type { Ring } from './zone/index.ts';

/** Tells whether a client prefers a stream of events to JSON; a wildcard means JSON. */
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

/** Begins a response of server-sent events. Returns `undefined` for HEAD and if the client has left. */
export function beginStream(x: Exchange): ResponseStream | undefined {
  x.response.setHeader('Cache-Control', 'no-cache');
  // Without this header, nginx in front of gw would buffer the events.
  x.response.setHeader('X-Accel-Buffering', 'no');
  const stream = x.stream(200, 'text/event-stream');
  headSent(x);
  return stream;
}

/** Formats the data of an event. Each line becomes a separate field, since a line end would begin another field. */
export function dataLines(text: string): string {
  return `data: ${text.replace(/\r\n|[\r\n]/g, '\ndata: ')}\n`;
}

/** The interval of comments in a stream: proxies close connections that are silent for a minute. */
const EVERY_MS = 15_000;

/** The text of a heartbeat: a comment, which clients ignore. */
export const COMMENT = ': keep-alive\n\n';

/** One timer for all open streams of a worker; it runs only while streams are open. */
export class Heartbeat {
  readonly #streams = new Set<{ beat(): void }>();
  #timer: NodeJS.Timeout | undefined;

  get size(): number {
    return this.#streams.size;
  }

  /** Adds a stream. Returns the function that removes it. */
  add(stream: { beat(): void }): () => void {
    this.#streams.add(stream);
    this.#timer ??= setInterval(() => this.#beat(), EVERY_MS).unref();
    return () => {
      this.#streams.delete(stream);
      if (this.#streams.size === 0) this.close();
    };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #beat(): void {
    for (const stream of this.#streams) stream.beat();
  }
}

/** An open stream. */
interface OpenStream {
  /** Called when there may be new entries. */
  wake(): void;
  /** Called when a heartbeat is due. */
  beat(): void;
}

/** A ring that one worker watches once for all its clients. */
export class Feed {
  readonly ring: Ring;
  readonly #streams = new Set<OpenStream>();
  readonly #heartbeat = new Heartbeat();
  #unwatch: (() => void) | undefined;

  constructor(ring: Ring) {
    this.ring = ring;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Adds a stream. Returns the function that removes it. */
  follow(stream: OpenStream): () => void {
    this.#streams.add(stream);
    const rest = this.#heartbeat.add(stream);
    this.#unwatch ??= this.ring.watch(() => {
      for (const each of this.#streams) each.wake();
    });
    return () => {
      this.#streams.delete(stream);
      rest();
      if (this.#streams.size === 0) this.close();
    };
  }

  close(): void {
    this.#heartbeat.close();
    this.#unwatch?.();
    this.#unwatch = undefined;
  }
}

/** Number of entries after which other requests are served. */
const BATCH = 256;
/** Characters sent in one write; an entry has at most a few thousand. */
const CHUNK = 16_384;

/** The entries of a ring that a stream sends. */
interface StreamSource {
  /** The first generation that is sent. */
  readonly from: number;
  /** The text of an entry, '' if the stream leaves it out; `undefined` if it was overwritten or is not complete yet. */
  readonly frameOf: (generation: number) => string | undefined;
}

/**
 * One client that follows the ring. It keeps a position in the ring and no entries: a client that reads more slowly
 * than events are published uses no memory, and is told how many entries it missed.
 */
export class EventStream implements OpenStream {
  readonly #feed: Feed;
  readonly #out: ResponseStream;
  readonly #frameOf: StreamSource['frameOf'];
  readonly #unfollow: () => void;
  #next: number;
  #blocked = false;
  #scheduled = false;
  #ended = false;

  constructor(feed: Feed, out: ResponseStream, { from, frameOf }: StreamSource) {
    this.#feed = feed;
    this.#out = out;
    this.#frameOf = frameOf;
    this.#next = from;
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

  /** Returns the text of the next entries, up to a limit; `more` if the ring has further ones. */
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
      const frame = this.#frameOf(this.#next);
      if (frame !== undefined) {
        text += frame;
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

/**
 * Returns the first generation to send to a client that has seen `since`. A generation greater than the newest comes
 * from before a restart: then all entries are sent.
 */
export function firstGeneration(since: number | undefined, newest: number): number {
  if (since === undefined) return newest + 1;
  return since > newest ? 1 : since + 1;
}

/** The open streams of one configuration. They are ended when the configuration retires. */
export class OpenStreams {
  readonly #streams = new Set<{ close(): void }>();
  readonly #retiring: AbortSignal;

  constructor(retiring: AbortSignal) {
    this.#retiring = retiring;
    retiring.addEventListener('abort', () => this.#close(), { once: true });
  }

  get size(): number {
    return this.#streams.size;
  }

  add(stream: { close(): void }, x: Exchange): void {
    if (this.#retiring.aborted) return stream.close();
    this.#streams.add(stream);
    x.onEnd(() => {
      this.#streams.delete(stream);
      stream.close();
    });
  }

  #close(): void {
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
  }
}
