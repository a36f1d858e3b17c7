import { createHash } from 'node:crypto';
import { setAlive, ZoneLock } from '../lock.ts';
import {
  ACCESSED,
  cellAt,
  CHECKED,
  CURRENT_WEIGHT,
  DIGEST_WORDS,
  EFFECTIVE_WEIGHT,
  FAILS,
  REQUESTS,
  SLOT_WORDS,
  slotAt,
  SLOTS_WORD,
  USES,
} from './kind.ts';

/** The state of one peer, shared by all threads. Weights and failures may only be accessed under the table's lock. */
export class PeerState {
  readonly #words: Int32Array;
  readonly #at: number;
  readonly #cell: number;

  constructor(words: Int32Array, { at, cell }: { at: number; cell: number }) {
    this.#words = words;
    this.#at = at;
    this.#cell = cell;
  }

  /** Number of requests in progress on the peer. */
  get requests(): number {
    return Atomics.load(this.#words, this.#at + REQUESTS);
  }

  get currentWeight(): number {
    return this.#words[this.#at + CURRENT_WEIGHT] as number;
  }

  set currentWeight(weight: number) {
    this.#words[this.#at + CURRENT_WEIGHT] = weight;
  }

  get effectiveWeight(): number {
    return this.#words[this.#at + EFFECTIVE_WEIGHT] as number;
  }

  set effectiveWeight(weight: number) {
    this.#words[this.#at + EFFECTIVE_WEIGHT] = weight;
  }

  get fails(): number {
    return this.#words[this.#at + FAILS] as number;
  }

  set fails(fails: number) {
    this.#words[this.#at + FAILS] = fails;
  }

  /** Time of the last failure, in seconds. */
  get accessed(): number {
    return this.#words[this.#at + ACCESSED] as number;
  }

  set accessed(second: number) {
    this.#words[this.#at + ACCESSED] = second;
  }

  /** Time of the last failure or of the trial request after it, in seconds. */
  get checked(): number {
    return this.#words[this.#at + CHECKED] as number;
  }

  set checked(second: number) {
    this.#words[this.#at + CHECKED] = second;
  }

  /** Counts a request to the peer. */
  enter(): void {
    this.#add(REQUESTS, 1);
  }

  /** Uncounts a request. */
  leave(): void {
    this.#add(REQUESTS, -1);
  }

  /** Called when this thread's configuration no longer has the peer. */
  release(): void {
    this.#add(USES, -1);
  }

  /** The cell of the thread is changed as well: if the thread dies, the master subtracts its cells from the sum. */
  #add(field: typeof USES | typeof REQUESTS, amount: 1 | -1): void {
    Atomics.add(this.#words, this.#cell + (field - USES), amount);
    Atomics.add(this.#words, this.#at + field, amount);
  }
}

/** The peers of one upstream, as one thread sees them. */
export class PeerTable {
  readonly #words: Int32Array;
  readonly #lock: ZoneLock;
  readonly #slots: number;
  readonly #threadId: number;

  constructor(buffer: SharedArrayBuffer, threadId: number) {
    this.#words = new Int32Array(buffer);
    this.#slots = this.#words[SLOTS_WORD] as number;
    this.#threadId = threadId;
    setAlive(this.#words, threadId);
    this.#lock = new ZoneLock(this.#words, threadId, () => undefined);
  }

  /**
   * Runs `act` under the lock. If the lock cannot be acquired in time, runs it without: choosing a peer twice is less
   * harmful than a request without a peer.
   */
  locked<T>(act: () => T): T {
    const isMine = this.#lock.acquire();
    try {
      return act();
    } finally {
      if (isMine) this.#lock.release();
    }
  }

  /**
   * Returns the state of a peer: the one that the zone has under this key, or a new one with this weight. If there is
   * no room, the state is private to this thread. It must be released.
   */
  claim(key: string, weight: number): PeerState {
    const digest = digestOf(key);
    // No request waits for this, and the holder of the lock is alive and will release it.
    while (!this.#lock.acquire());
    try {
      const index = this.#find(digest) ?? this.#free();
      if (index === undefined) return privateState(weight);
      const at = slotAt(index);
      if (!this.#holds(at, digest)) {
        this.#words.fill(0, at, at + SLOT_WORDS);
        this.#words.set(digest, at);
        this.#words[at + EFFECTIVE_WEIGHT] = weight;
      }
      const cell = cellAt(this.#slots, { threadId: this.#threadId, index });
      Atomics.add(this.#words, cell, 1);
      Atomics.add(this.#words, at + USES, 1);
      return new PeerState(this.#words, { at, cell });
    } finally {
      this.#lock.release();
    }
  }

  #find(digest: Int32Array): number | undefined {
    for (let index = 0; index < this.#slots; index++) if (this.#holds(slotAt(index), digest)) return index;
    return undefined;
  }

  #holds(at: number, digest: Int32Array): boolean {
    return digest.every((word, nth) => this.#words[at + nth] === word);
  }

  /** Returns an unused slot, or else one whose peer is no longer in use. */
  #free(): number | undefined {
    const all = Array.from({ length: this.#slots }, (_, index) => index);
    return (
      all.find((index) => this.#words[slotAt(index)] === 0) ??
      all.find((index) => {
        const at = slotAt(index);
        return this.#words[at + USES] === 0 && this.#words[at + REQUESTS] === 0;
      })
    );
  }
}

function privateState(weight: number): PeerState {
  const words = new Int32Array(SLOT_WORDS * 2);
  words[EFFECTIVE_WEIGHT] = weight;
  return new PeerState(words, { at: 0, cell: SLOT_WORDS });
}

/** Returns four words that are not all zero. */
function digestOf(key: string): Int32Array {
  const bytes = createHash('sha256').update(key).digest();
  const words = Int32Array.from({ length: DIGEST_WORDS }, (_, nth) => bytes.readInt32LE(nth * 4));
  words[0] ||= 1;
  return words;
}
