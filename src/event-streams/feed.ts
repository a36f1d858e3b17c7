import type { Ring } from '../zone/index.ts';
import { Heartbeat } from './heartbeat.ts';

/** An open stream. */
export interface OpenStream {
  /** Called when there may be new entries. */
  wake(): void;
  /** Called when a heartbeat is due. */
  beat(): void;
}

/** A ring on behalf of all clients of one worker: it is watched once for all of them. */
export class Feed {
  readonly ring: Ring;
  readonly #streams = new Set<OpenStream>();
  readonly #heartbeat = new Heartbeat();
  #unwatch: (() => void) | undefined;

  constructor(ring: Ring) {
    this.ring = ring;
  }

  /** The number of streams. */
  get size(): number {
    return this.#streams.size;
  }

  /** Adds a stream; gives a function that removes it. */
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
