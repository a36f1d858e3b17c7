import type { Ring } from '../../zone/index.ts';
import { entryJson } from './query.ts';

const HEARTBEAT_MS = 15_000;
/** Number of frames that are kept for the other streams of this worker, which usually need the same ones next. */
const RECENT = 64;

/** An entry in the form in which streams send it. */
export interface Frame {
  readonly generation: number;
  readonly channel: string;
  readonly type: string;
  readonly text: string;
}

/** An open stream. */
export interface Follower {
  /** Called when there may be new entries. */
  wake(): void;
  /** Called when a heartbeat is due. */
  beat(): void;
}

/** A ring on behalf of all streams of one worker: it is watched once, and each entry is read once. */
export class Feed {
  readonly ring: Ring;
  readonly #followers = new Set<Follower>();
  readonly #recent: (Frame | undefined)[] = [];
  #stop: (() => void) | undefined;

  constructor(ring: Ring) {
    this.ring = ring;
  }

  /** Adds a stream; gives a function that removes it. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    this.#stop ??= this.#start();
    return () => {
      this.#followers.delete(follower);
      if (this.#followers.size === 0) this.close();
    };
  }

  /** Gives the frame of an entry; `undefined` if it was overwritten or does not exist yet, as in `Ring.read`. */
  frame(generation: number): Frame | undefined {
    const recent = this.#recent[generation % RECENT];
    if (recent?.generation === generation) return recent;
    const entry = this.ring.read(generation);
    if (!entry) return undefined;
    const { channel, type } = entry;
    // A line end would begin another field; the data contains the unchanged type.
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
