import type { Ring } from '../../zone/index.ts';
import { KeptEntries } from './kept-entries.ts';

const HEARTBEAT_MS = 15_000;
/** An open stream. */
export interface Follower {
  /** Called when there may be new entries. */
  wake(): void;
  /** Called when a heartbeat is due. */
  beat(): void;
}

/** A ring on behalf of all clients of one worker: it is watched once, and each entry is read once. */
export class Feed {
  readonly ring: Ring;
  readonly entries: KeptEntries;
  readonly #followers = new Set<Follower>();
  #stop: (() => void) | undefined;

  constructor(ring: Ring) {
    this.ring = ring;
    this.entries = new KeptEntries(ring);
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
