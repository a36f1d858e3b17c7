import type { ResponseStream } from '../../http/index.ts';
import type { Feed, Follower, Frame } from './feed.ts';

/** Entries looked at before other requests get their turn. */
const BATCH = 256;
/** Characters sent in one write; an entry has at most a few thousand. */
const CHUNK = 16_384;
const COMMENT = ': keep-alive\n\n';

/** Which entries a stream sends; absent texts match all. */
export interface StreamStart {
  /** The first generation that it may send. */
  readonly from: number;
  readonly channel: string | undefined;
  readonly type: string | undefined;
}

/**
 * One client that follows the ring. It holds a place in the ring and no entries: a client that reads slower
 * than others publish takes no memory, but is told how many entries it missed.
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
    // The head of the answer leaves with the first byte of its body.
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

  /** Ends the answer; also right when the client has left. */
  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unfollow();
    this.#out.end();
  }

  /**
   * Text of the next entries, as many as one turn allows; `more` when the ring already holds further ones.
   */
  #collect(): { text: string; more: boolean } {
    let text = '';
    for (let looked = 0; looked < BATCH && text.length < CHUNK; looked++) {
      const range = this.#feed.ring.range();
      // A publisher is at the header; it wakes this stream when it is done.
      if (!range) return { text, more: false };
      if (this.#next < range.oldest) {
        text += droppedText(range.oldest - this.#next);
        this.#next = range.oldest;
      }
      if (this.#next > range.newest) return { text, more: false };
      const frame = this.#feed.frame(this.#next);
      if (frame) {
        if (this.#wants(frame)) text += frame.text;
        this.#next++;
      } else if (!this.#isGone()) {
        // A publisher is overwriting it, and wakes this stream when it is done.
        return { text, more: false };
      }
    }
    return { text, more: true };
  }

  #isGone(): boolean {
    const range = this.#feed.ring.range();
    return range !== undefined && this.#next < range.oldest;
  }

  #wants(frame: Frame): boolean {
    const { channel, type } = this.#start;
    return (
      (channel === undefined || frame.channel === channel) && (type === undefined || frame.type === type)
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
