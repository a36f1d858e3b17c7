import { randomUUID } from 'node:crypto';
import { BroadcastChannel } from 'node:worker_threads';
import type { Catalogue } from './entries.ts';

/** Cloneable: names what the workers of a process share for one database. */
export interface ShareKey {
  readonly channel: string;
  /** Places of 32 bits: who reads (0: nobody), how often it was read, and who listens (0: nobody). */
  readonly state: SharedArrayBuffer;
}

/** Made once in the process. */
export function openShare(): ShareKey {
  return { channel: `gw:dbrest:${randomUUID()}`, state: new SharedArrayBuffer(12) };
}

const READER = 0;
const READS = 1;
const LISTENER = 2;
/** Whoever reads for longer than that may have died of it: then everybody reads for himself. */
const LONGEST_WAIT_MS = 5_000;

/** A catalogue and how often it had been read when it was, this time included: the higher number is the newer one. */
export interface Reading {
  readonly reads: number;
  readonly catalogue: Catalogue;
}

/** Without a catalogue: reading it failed. Or nobody listens any more. */
type ShareMessage = Reading | { readonly reads: number; readonly catalogue?: never } | 'vacant';

/** The catalogue of one database for all workers of a process: the first who needs it reads it, the others are given it. */
export class CatalogueShare {
  readonly #channel: BroadcastChannel;
  readonly #state: Int32Array;
  readonly #me: number;
  readonly #waiting = new Set<(reading: Reading | undefined) => void>();
  #lastRead: number;
  #vacant = (): void => undefined;

  /** `posted` is told of a catalogue that another worker has read unasked. */
  constructor(key: ShareKey, workerId: number, posted: (reading: Reading) => void) {
    this.#state = new Int32Array(key.state);
    this.#me = workerId;
    this.#lastRead = Atomics.load(this.#state, READS);
    this.#channel = new BroadcastChannel(key.channel);
    this.#channel.unref();
    this.#channel.onmessage = (event) => this.#take((event as { data: ShareMessage }).data, posted);
  }

  /** Gives what another worker reads at the moment, else what `read` gives, and that to the others too. Rejects as `read` does. */
  async obtain(read: () => Promise<Catalogue>): Promise<Reading> {
    const given = this.#isUnderWay() ? await this.#nextPosted() : undefined;
    if (given) return given;
    Atomics.store(this.#state, READER, this.#me);
    let reads = 0;
    let catalogue: Catalogue | undefined;
    try {
      catalogue = await read();
      reads = this.#lastRead = Atomics.add(this.#state, READS, 1) + 1;
      return { reads, catalogue };
    } finally {
      Atomics.compareExchange(this.#state, READER, this.#me, 0);
      this.#post(catalogue ? { reads, catalogue } : { reads });
    }
  }

  /** The catalogue was read, or is at the moment. */
  get hasRead(): boolean {
    return Atomics.load(this.#state, READS) > 0 || Atomics.load(this.#state, READER) !== 0;
  }

  /** Resolves when nothing is read that may have begun before this call. */
  async settled(): Promise<void> {
    const reader = Atomics.load(this.#state, READER);
    const isUnderWay = reader !== 0 && reader !== this.#me;
    const last = Atomics.load(this.#state, READS) + (isUnderWay ? 1 : 0);
    while (this.#lastRead < last && (await this.#nextPosted()));
  }

  /** True: this worker is the one that listens. It stays so when it comes back after a crash, under the same number. */
  claimListening(): boolean {
    const holder = Atomics.compareExchange(this.#state, LISTENER, 0, this.#me);
    return holder === 0 || holder === this.#me;
  }

  /** Runs when another worker has stopped listening. */
  whenVacant(run: () => void): void {
    this.#vacant = run;
  }

  /** Another worker may listen now. */
  leave(): void {
    if (Atomics.compareExchange(this.#state, LISTENER, this.#me, 0) === this.#me) this.#post('vacant');
  }

  close(): void {
    this.#channel.close();
  }

  #post(message: ShareMessage): void {
    this.#channel.postMessage(message);
  }

  /** Another worker reads, or has read what is still on its way to us. */
  #isUnderWay(): boolean {
    if (Atomics.load(this.#state, READS) > this.#lastRead) return true;
    const reader = Atomics.compareExchange(this.#state, READER, 0, this.#me);
    // Our own number: of a worker that died while it read.
    return reader !== 0 && reader !== this.#me;
  }

  #nextPosted(): Promise<Reading | undefined> {
    return new Promise((resolve) => {
      const give = (reading: Reading | undefined): void => {
        clearTimeout(timer);
        this.#waiting.delete(give);
        resolve(reading);
      };
      const timer = setTimeout(() => give(undefined), LONGEST_WAIT_MS).unref();
      this.#waiting.add(give);
    });
  }

  #take(message: ShareMessage, posted: (reading: Reading) => void): void {
    if (message === 'vacant') return this.#vacant();
    const { reads, catalogue } = message;
    const reading = catalogue && { reads, catalogue };
    const isNew = reads > this.#lastRead;
    this.#lastRead = Math.max(this.#lastRead, reads);
    if (this.#waiting.size === 0 && reading && isNew) posted(reading);
    for (const give of this.#waiting) give(reading);
  }
}
