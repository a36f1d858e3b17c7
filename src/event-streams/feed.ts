import type { Ring } from '../zone/index.ts';
import { Heartbeat } from './heartbeat.ts';

/** An open stream. */
export interface Follower {
  /** Called when there may be new entries. */
  wake(): void;
  /** Called when a heartbeat is due. */
  beat(): void;
}

/** A ring on behalf of all clients of one worker: it is watched once for all of them. */
export class Feed {
  readonly ring: Ring;
  readonly #followers = new Set<Follower>();
  readonly #heartbeat = new Heartbeat();
  #unwatch: (() => void) | undefined;

  constructor(ring: Ring) {
    this.ring = ring;
  }

  /** The number of streams. */
  get size(): number {
    return this.#followers.size;
  }

  /** Adds a stream; gives a function that removes it. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    const rest = this.#heartbeat.add(follower);
    this.#unwatch ??= this.ring.watch(() => {
      for (const each of this.#followers) each.wake();
    });
    return () => {
      this.#followers.delete(follower);
      rest();
      if (this.#followers.size === 0) this.close();
    };
  }

  close(): void {
    this.#heartbeat.close();
    this.#unwatch?.();
    this.#unwatch = undefined;
  }
}
