import type { Ring } from '../../zone/index.ts';
import { entryJson } from './query.ts';

const HEARTBEAT_MS = 15_000;
/** Frames that are kept for the other streams of this worker, which usually want the same ones next. */
const RECENT = 64;

/** An entry as a stream sends it. */
export interface Frame {
  readonly generation: number;
  readonly channel: string;
  readonly type: string;
  readonly text: string;
}

/** One open stream, as the feed sees it. */
export interface Follower {
  /** There may be new entries. */
  wake(): void;
  /** It is time to show that the connection lives. */
  beat(): void;
}

/** A ring as all streams of one worker follow it: one watch, one heartbeat, each entry read once. */
export class Feed {
  readonly ring: Ring;
  readonly #followers = new Set<Follower>();
  readonly #recent: (Frame | undefined)[] = [];
  #stop: (() => void) | undefined;

  constructor(ring: Ring) {
    this.ring = ring;
  }

  /** Gives the function that ends it. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    this.#stop ??= this.#start();
    return () => {
      this.#followers.delete(follower);
      if (this.#followers.size === 0) this.close();
    };
  }

  /** `undefined`: overwritten, or not there yet; see `Ring.read`. */
  frame(generation: number): Frame | undefined {
    const recent = this.#recent[generation % RECENT];
    if (recent?.generation === generation) return recent;
    const entry = this.ring.read(generation);
    if (!entry) return undefined;
    const { channel, type } = entry;
    // A line end would start a field of its own; the data has the type as it is.
    const name = type.replace(/[\r\n]/g, ' ');
    const text = `id: ${generation}\nevent: ${name}\ndata: ${entryJson(entry)}\n\n`;
    return (this.#recent[generation % RECENT] = { generation, channel, type, text });
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  #start(): () => void {
    const unwatch = this.ring.watch(() => {
      for (const follower of this.#followers) follower.wake();
    });
    const heartbeat = setInterval(() => {
      for (const follower of this.#followers) follower.beat();
    }, HEARTBEAT_MS).unref();
    return () => {
      unwatch();
      clearInterval(heartbeat);
    };
  }
}
