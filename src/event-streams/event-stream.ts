import type { ResponseStream } from '../http/index.ts';
import type { Feed, OpenStream } from './feed.ts';
import { COMMENT } from './heartbeat.ts';

/** Number of entries after which other requests are served. */
const BATCH = 256;
/** Characters sent in one write; an entry has at most a few thousand. */
const CHUNK = 16_384;

/** What a stream sends of a ring. */
interface StreamSource {
  /** The first generation that is sent. */
  readonly from: number;
  /** The text of an entry, '' if the stream leaves it out; `undefined` if it was overwritten or is not complete yet. */
  readonly frameOf: (generation: number) => string | undefined;
}

/**
 * One client that follows the ring. It keeps a position in the ring and no entries: a client that reads more slowly than events
 * are published uses no memory, and is told how many entries it missed.
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
 * Gives the first generation to send to a client that has seen `since`. A generation greater than the newest comes from before a
 * restart: then all entries are sent.
 */
export function firstGeneration(since: number | undefined, newest: number): number {
  if (since === undefined) return newest + 1;
  return since > newest ? 1 : since + 1;
}
