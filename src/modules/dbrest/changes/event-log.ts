/** The events of one burst, as they are sent. */
interface Burst {
  /** The latest announcement that it takes into account. */
  readonly generation: number;
  readonly bytes: Buffer;
}

/**
 * The latest events of a followed read. Streams keep a position in it and no events, so that a client that reads slowly takes no
 * memory.
 */
export class EventLog {
  readonly #mostBytes: number;
  #bursts: Burst[] = [];
  /** The position of the first burst that is still kept. */
  #first = 0;
  #bytes = 0;
  /** Announcements up to this one were taken into account before the first burst that is kept. */
  #coveredFrom: number;

  constructor(mostBytes: number, generation: number) {
    this.#mostBytes = mostBytes;
    this.#coveredFrom = generation;
  }

  /** The position behind the latest burst. */
  get end(): number {
    return this.#first + this.#bursts.length;
  }

  add(text: string, generation: number): void {
    const bytes = Buffer.from(text);
    this.#bursts.push({ generation, bytes });
    this.#bytes += bytes.length;
    let dropped = 0;
    // The latest burst stays, however long it is.
    while (this.#bytes > this.#mostBytes && dropped < this.#bursts.length - 1) {
      const burst = this.#bursts[dropped] as Burst;
      this.#bytes -= burst.bytes.length;
      this.#coveredFrom = burst.generation;
      dropped += 1;
    }
    if (dropped > 0) this.#bursts.splice(0, dropped);
    this.#first += dropped;
  }

  /** The burst at a position; `undefined` if there is none yet, 'dropped' if it is no longer kept. */
  at(position: number): Buffer | 'dropped' | undefined {
    if (position < this.#first) return 'dropped';
    return this.#bursts[position - this.#first]?.bytes;
  }

  /**
   * The position from which a client goes on that has everything up to a generation; `undefined` if it has missed what is no longer
   * kept. A burst of that very generation may come again: events can be repeated without harm.
   */
  positionAfter(generation: number): number | undefined {
    if (generation < this.#coveredFrom) return undefined;
    const index = this.#bursts.findIndex((burst) => burst.generation >= generation);
    return index < 0 ? this.end : this.#first + index;
  }
}
