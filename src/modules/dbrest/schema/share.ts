import { randomUUID } from 'node:crypto';
import { BroadcastChannel } from 'node:worker_threads';
import { OUTAGE_BYTES } from '../../../log/index.ts';
import type { Catalogue } from './entries.ts';

/** Identifies the state that the workers of a process share for one database. Cloneable. */
export interface ShareKey {
  readonly channel: string;
  /**
   * Seven 32-bit cells and those of an outage: the worker that reads (0: none), the number of reads, the worker that listens (0: none), until
   * when notifications are heard (milliseconds since the epoch, lower 32 bits; 0: not at all), the number of changes of
   * the schema, how often listening has begun, and whether the log says that a pooler is in between.
   */
  readonly state: SharedArrayBuffer;
}

/** Creates the shared state, once per process. */
export function openShare(): ShareKey {
  return { channel: `gw:dbrest:${randomUUID()}`, state: new SharedArrayBuffer(OUTAGE_AT + OUTAGE_BYTES) };
}

const READER = 0;
const READS = 1;
const LISTENER = 2;
const LEASE = 3;
const ANNOUNCED = 4;
const LISTENED = 5;
const POOLER_TOLD = 6;
/** In bytes. */
const OUTAGE_AT = 28;
/** A reader that takes longer may have died; the other workers then read for themselves. */
const LONGEST_WAIT_MS = 5_000;

/** A catalogue and its read number; a higher number is newer. */
export interface Reading {
  readonly reads: number;
  /** When it began, in milliseconds since the epoch: later changes may be missing. */
  readonly beganMs: number;
  /** The result of `STATE_SQL` before the read. */
  readonly state?: string | undefined;
  readonly catalogue: Catalogue;
}

/** A message between workers. Without a catalogue the read failed; 'vacant' means that no worker listens any more. */
type ShareMessage = Reading | (Omit<Reading, 'catalogue'> & { readonly catalogue?: never }) | 'vacant';

/** Shares the catalogue of one database between the workers of a process: one reads it and sends it to the others. */
export class CatalogueShare {
  readonly #channel: BroadcastChannel;
  readonly #state: Int32Array;
  readonly #me: number;
  readonly #waiting = new Set<(reading: Reading | undefined) => void>();
  #lastRead: number;
  #vacant = (): void => undefined;

  /** `posted` is called with catalogues of other workers for which this one did not wait. */
  constructor(key: ShareKey, workerId: number, posted: (reading: Reading) => void) {
    this.#state = new Int32Array(key.state);
    this.#me = workerId;
    this.#lastRead = Atomics.load(this.#state, READS);
    this.#channel = new BroadcastChannel(key.channel);
    this.#channel.unref();
    this.#channel.onmessage = (event) => this.#take((event as { data: ShareMessage }).data, posted);
  }

  /**
   * Returns the catalogue that another worker is reading, else calls `read` and sends the result to the others. Rejects
   * as `read` does.
   */
  async obtain(read: () => Promise<Pick<Reading, 'catalogue' | 'state'>>): Promise<Reading> {
    const given = this.#isUnderWay() ? await this.#nextPosted() : undefined;
    if (given) return given;
    Atomics.store(this.#state, READER, this.#me);
    const beganMs = Date.now();
    let reads = 0;
    let found: Pick<Reading, 'catalogue' | 'state'> | undefined;
    try {
      found = await read();
      reads = this.#lastRead = Atomics.add(this.#state, READS, 1) + 1;
      return { reads, beganMs, ...found };
    } finally {
      Atomics.compareExchange(this.#state, READER, this.#me, 0);
      this.#post({ reads, beganMs, ...found });
    }
  }

  /** The catalogue has been read or is being read. */
  get hasRead(): boolean {
    return Atomics.load(this.#state, READS) > 0 || Atomics.load(this.#state, READER) !== 0;
  }

  /** Resolves when all reads that began before this call have ended. */
  async settled(): Promise<void> {
    const reader = Atomics.load(this.#state, READER);
    const isUnderWay = reader !== 0 && reader !== this.#me;
    const last = Atomics.load(this.#state, READS) + (isUnderWay ? 1 : 0);
    while (this.#lastRead < last && (await this.#nextPosted()));
  }

  /**
   * Returns true if this worker is the listener. A worker that restarts after a crash has the same number and remains
   * the listener.
   */
  claimListening(): boolean {
    const holder = Atomics.compareExchange(this.#state, LISTENER, 0, this.#me);
    return holder === 0 || holder === this.#me;
  }

  /** Notifications are heard for this long from now on; 0: no longer. */
  holdLease(ms: number): void {
    Atomics.store(this.#state, LEASE, ms === 0 ? 0 : (Date.now() + ms) | 0 || 1);
  }

  /** Returns whether some worker hears notifications. */
  get isLeaseHeld(): boolean {
    const untilMs = Atomics.load(this.#state, LEASE);
    return untilMs !== 0 && ((untilMs - Date.now()) | 0) > 0;
  }

  /** Counts a change of the schema that the database has announced. */
  announce(): void {
    Atomics.add(this.#state, ANNOUNCED, 1);
  }

  get announced(): number {
    return Atomics.load(this.#state, ANNOUNCED);
  }

  /** Counts that listening has begun. Returns how often it had before, in any worker. */
  beginListening(): number {
    return Atomics.add(this.#state, LISTENED, 1);
  }

  /** Returns true once in the process. */
  tellsPooler(): boolean {
    return Atomics.exchange(this.#state, POOLER_TOLD, 1) === 0;
  }

  /** The state of `Outage`. */
  get outage(): Int32Array {
    return new Int32Array(this.#state.buffer, OUTAGE_AT);
  }

  /** Sets the function to call when another worker has stopped listening. */
  whenVacant(run: () => void): void {
    this.#vacant = run;
  }

  /** Gives up listening, so that another worker can take over. */
  leave(): void {
    if (Atomics.compareExchange(this.#state, LISTENER, this.#me, 0) === this.#me) this.#post('vacant');
  }

  close(): void {
    this.#channel.close();
  }

  #post(message: ShareMessage): void {
    this.#channel.postMessage(message);
  }

  /** Returns whether another worker is reading, or its result has not arrived yet. */
  #isUnderWay(): boolean {
    if (Atomics.load(this.#state, READS) > this.#lastRead) return true;
    const reader = Atomics.compareExchange(this.#state, READER, 0, this.#me);
    // The number of this worker was left by a predecessor that died while reading.
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
    const { reads, beganMs, catalogue, state } = message;
    const reading = catalogue && { reads, beganMs, catalogue, state };
    const isNew = reads > this.#lastRead;
    this.#lastRead = Math.max(this.#lastRead, reads);
    if (this.#waiting.size === 0 && reading && isNew) posted(reading);
    for (const give of this.#waiting) give(reading);
  }
}
