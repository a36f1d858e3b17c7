import { randomUUID } from 'node:crypto';
import { BroadcastChannel } from 'node:worker_threads';
import type { Catalogue } from './catalogue-text.ts';

/** Cloneable: names what the workers of a process share for one database. */
export interface ShareKey {
  readonly channel: string;
  /** Places of 32 bits: who reads (0: nobody), and how often it was read. */
  readonly state: SharedArrayBuffer;
}

/** Made once in the process. */
export function openShare(): ShareKey {
  return { channel: `gw:dbrest:${randomUUID()}`, state: new SharedArrayBuffer(8) };
}

const READER = 0;
const READS = 1;
/** Whoever reads for longer than that may have died of it: then everybody reads for himself. */
const LONGEST_WAIT_MS = 5_000;

interface Posted {
  /** How often it was read, this time included. */
  readonly reads: number;
  /** Absent when it failed. */
  readonly catalogue?: Catalogue;
}

/** The catalogue of one database for all workers of a process: the first who needs it reads it, the others are given it. */
export class CatalogueShare {
  readonly #channel: BroadcastChannel;
  readonly #state: Int32Array;
  readonly #me: number;
  readonly #waiting = new Set<(catalogue: Catalogue | undefined) => void>();
  #seen: number;

  /** `posted` is told of a catalogue that another worker has read unasked. */
  constructor(key: ShareKey, workerId: number, posted: (catalogue: Catalogue) => void) {
    this.#state = new Int32Array(key.state);
    this.#me = workerId;
    this.#seen = Atomics.load(this.#state, READS);
    this.#channel = new BroadcastChannel(key.channel);
    this.#channel.unref();
    this.#channel.onmessage = (event) => this.#take((event as { data: Posted }).data, posted);
  }

  /** Gives what another worker reads at the moment, else what `read` gives, and that to the others too. Rejects as `read` does. */
  async obtain(read: () => Promise<Catalogue>): Promise<Catalogue> {
    const given = this.#isUnderWay() ? await this.#nextPosted() : undefined;
    if (given) return given;
    Atomics.store(this.#state, READER, this.#me);
    let reads = 0;
    let catalogue: Catalogue | undefined;
    try {
      catalogue = await read();
      reads = this.#seen = Atomics.add(this.#state, READS, 1) + 1;
      return catalogue;
    } finally {
      Atomics.compareExchange(this.#state, READER, this.#me, 0);
      this.#channel.postMessage({ reads, ...(catalogue && { catalogue }) } satisfies Posted);
    }
  }

  close(): void {
    this.#channel.close();
  }

  /** Another worker reads, or has read what is still on its way to us. */
  #isUnderWay(): boolean {
    if (Atomics.load(this.#state, READS) > this.#seen) return true;
    return Atomics.compareExchange(this.#state, READER, 0, this.#me) !== 0;
  }

  #nextPosted(): Promise<Catalogue | undefined> {
    return new Promise((resolve) => {
      const give = (catalogue: Catalogue | undefined): void => {
        clearTimeout(timer);
        this.#waiting.delete(give);
        resolve(catalogue);
      };
      const timer = setTimeout(() => give(undefined), LONGEST_WAIT_MS);
      this.#waiting.add(give);
    });
  }

  #take({ reads, catalogue }: Posted, posted: (catalogue: Catalogue) => void): void {
    const isNew = reads > this.#seen;
    this.#seen = Math.max(this.#seen, reads);
    if (this.#waiting.size === 0 && catalogue && isNew) posted(catalogue);
    for (const give of this.#waiting) give(catalogue);
  }
}
