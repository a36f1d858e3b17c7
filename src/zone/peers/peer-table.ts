import { createHash } from 'node:crypto';
import { setAlive, ZoneLock } from '../lock.ts';
import { Seat } from '../seat.ts';
import { type CheckCell, claimCheck } from './check-cell.ts';
import {
  ACCESSED,
  CELL_STARTS,
  CELL_WORDS,
  cellAt,
  CHECKED,
  CURRENT_WEIGHT,
  DIGEST_WORDS,
  EFFECTIVE_WEIGHT,
  EXCLUSIONS,
  FAILS,
  FAILURES,
  FIRST_CHECK,
  HEAD_MEAN,
  LAST_BYTE_MEAN,
  PICKS,
  REQUESTS,
  SEAT_WORD,
  SLOT_WORDS,
  slotAt,
  SLOTS_WORD,
  STREAK,
  SLOW_START_FROM,
  THREADS_WORD,
  USES,
  WEIGHT,
} from './kind.ts';

/** Bits of `PeerState.exclusions`: the reasons of active checks not to select a peer. */
export const UNHEALTHY = 1;
export const CHECKING = 2;

/** Requests in a row that fail before a peer counts as failing. */
const FAILING_AFTER = 3;

/** The views of a table's memory. */
interface PeersMemory {
  readonly words: Int32Array;
  readonly doubles: Float64Array;
}

/** The memory of a table that belongs to a peer, as indexes of words. */
interface PeerPlace {
  readonly at: number;
  /** The cell of this thread. */
  readonly cell: number;
  /** The cells of all threads: the first one, their number, and the distance of two. */
  readonly cells: { readonly first: number; readonly count: number; readonly step: number };
}

/**
 * The state of one peer, shared by all threads. Weights, failures and means may only be accessed under the table's
 * lock. Times are in ms of the monotonic clock that all threads share unless their name says seconds.
 */
export class PeerState {
  readonly #words: Int32Array;
  readonly #doubles: Float64Array;
  readonly #place: PeerPlace;
  readonly #at: number;

  constructor({ words, doubles }: PeersMemory, place: PeerPlace) {
    this.#words = words;
    this.#doubles = doubles;
    this.#place = place;
    this.#at = place.at;
  }

  /** Number of requests in progress on the peer. */
  get requests(): number {
    return Atomics.load(this.#words, this.#at + REQUESTS);
  }

  /** Number of requests that have been sent to the peer. */
  get picks(): number {
    return Atomics.load(this.#words, this.#at + PICKS) >>> 0;
  }

  /** Number of requests that have failed. */
  get failures(): number {
    return Atomics.load(this.#words, this.#at + FAILURES) >>> 0;
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

  /** Failures since the last success. */
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

  /** The reasons of active checks against the peer; 0: it may be selected. */
  get exclusions(): number {
    return Atomics.load(this.#words, this.#at + EXCLUSIONS);
  }

  set exclusions(bits: number) {
    Atomics.store(this.#words, this.#at + EXCLUSIONS, bits);
  }

  /** Returns the result of an active check, which a digest (not 0) identifies. To be called under the table's lock. */
  check(digest: number): CheckCell {
    return claimCheck({ words: this.#words, doubles: this.#doubles, at: this.#at + FIRST_CHECK }, digest);
  }

  /** When the peer became available again; 0: it gets its whole share. */
  get slowStartFrom(): number {
    return this.#doubles[(this.#at + SLOW_START_FROM) >> 1] as number;
  }

  set slowStartFrom(ms: number) {
    this.#doubles[(this.#at + SLOW_START_FROM) >> 1] = ms;
  }

  /** Moving average of the time to the head of a response, in ms; 0 before the first one. */
  get headMean(): number {
    return this.#doubles[(this.#at + HEAD_MEAN) >> 1] as number;
  }

  set headMean(ms: number) {
    this.#doubles[(this.#at + HEAD_MEAN) >> 1] = ms;
  }

  /** Moving average of the time to the last byte of a response, in ms; 0 before the first one. */
  get lastByteMean(): number {
    return this.#doubles[(this.#at + LAST_BYTE_MEAN) >> 1] as number;
  }

  set lastByteMean(ms: number) {
    this.#doubles[(this.#at + LAST_BYTE_MEAN) >> 1] = ms;
  }

  /** Returns the mean age of the requests in progress; 0 without any. */
  meanAge(nowMs: number): number {
    const { first, count, step } = this.#place.cells;
    let requests = 0;
    let starts = 0;
    for (let nth = 0, cell = first; nth < count; nth++, cell += step) {
      requests += this.#words[cell + 1] as number;
      starts += this.#doubles[(cell + CELL_STARTS) >> 1] as number;
    }
    return requests > 0 ? Math.max(0, nowMs - starts / requests) : 0;
  }

  /** Counts a request to the peer that begins at this time. */
  enter(startMs: number): void {
    this.#add(REQUESTS, 1);
    Atomics.add(this.#words, this.#at + PICKS, 1);
    const at = (this.#place.cell + CELL_STARTS) >> 1;
    this.#doubles[at] = (this.#doubles[at] as number) + startMs;
  }

  /** Uncounts a request that began at this time. */
  leave(startMs: number): void {
    this.#add(REQUESTS, -1);
    const { cell } = this.#place;
    const at = (cell + CELL_STARTS) >> 1;
    // Without requests, the sum is 0 despite rounding.
    this.#doubles[at] = this.#words[cell + 1] === 0 ? 0 : (this.#doubles[at] as number) - startMs;
  }

  /** Counts a failed request. */
  countFailure(): void {
    Atomics.add(this.#words, this.#at + FAILURES, 1);
  }

  /** True if the last requests have all failed, whether or not the peer is left alone for it. */
  get isFailing(): boolean {
    return Atomics.load(this.#words, this.#at + STREAK) >= FAILING_AFTER;
  }

  /** Records how a request to the peer ended. */
  ended(hasFailed: boolean): void {
    if (hasFailed) Atomics.add(this.#words, this.#at + STREAK, 1);
    else if (Atomics.load(this.#words, this.#at + STREAK) !== 0)
      Atomics.store(this.#words, this.#at + STREAK, 0);
  }

  /** Called when this thread's configuration no longer has the peer. */
  release(): void {
    this.#add(USES, -1);
  }

  /** Changes the sum and the cell of this thread: if the thread dies, the master subtracts its cells from the sums. */
  #add(field: typeof USES | typeof REQUESTS, amount: 1 | -1): void {
    Atomics.add(this.#words, this.#place.cell + (field - USES), amount);
    Atomics.add(this.#words, this.#at + field, amount);
  }
}

/** The peers of one upstream, as one thread sees them. */
export class PeerTable {
  readonly #words: Int32Array;
  readonly #doubles: Float64Array;
  readonly #lock: ZoneLock;
  readonly #slots: number;
  readonly #threads: number;
  readonly #threadId: number;

  constructor(buffer: SharedArrayBuffer, threadId: number) {
    this.#words = new Int32Array(buffer);
    this.#doubles = new Float64Array(buffer);
    this.#slots = this.#words[SLOTS_WORD] as number;
    this.#threads = this.#words[THREADS_WORD] as number;
    this.#threadId = threadId;
    setAlive(this.#words, threadId);
    this.#lock = new ZoneLock(this.#words, threadId, () => undefined);
  }

  /** The seat of the thread that looks after the group for all threads. */
  get seat(): Seat {
    return new Seat(this.#words, { at: SEAT_WORD, threadId: this.#threadId });
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
   * Returns the state of a peer: the one that the zone has under this key, or a new one. If the weight has changed, its
   * share starts again. If there is no room, the state is private to this thread. It must be released.
   */
  claim(key: string, weight: number): PeerState {
    const digest = digestOf(key);
    // No request waits for this. The holder of the lock is alive and will release it.
    while (!this.#lock.acquire());
    try {
      const index = this.#find(digest) ?? this.#free();
      if (index === undefined) return privateState(weight);
      const at = slotAt(index);
      if (!this.#holds(at, digest)) {
        this.#words.fill(0, at, at + SLOT_WORDS);
        this.#words.set(digest, at);
      }
      if (this.#words[at + WEIGHT] !== weight) {
        this.#words[at + WEIGHT] = this.#words[at + EFFECTIVE_WEIGHT] = weight;
        this.#words[at + CURRENT_WEIGHT] = 0;
      }
      const place = this.#placeOf(index);
      Atomics.add(this.#words, place.cell, 1);
      Atomics.add(this.#words, at + USES, 1);
      return new PeerState({ words: this.#words, doubles: this.#doubles }, place);
    } finally {
      this.#lock.release();
    }
  }

  #placeOf(index: number): PeerPlace {
    const slots = this.#slots;
    const first = cellAt(slots, { threadId: 0, index });
    const cells = { first, count: this.#threads, step: slots * CELL_WORDS };
    return { at: slotAt(index), cell: cellAt(slots, { threadId: this.#threadId, index }), cells };
  }

  #find(digest: Int32Array): number | undefined {
    for (let index = 0; index < this.#slots; index++) if (this.#holds(slotAt(index), digest)) return index;
    return undefined;
  }

  #holds(at: number, digest: Int32Array): boolean {
    return digest.every((word, nth) => this.#words[at + nth] === word);
  }

  /** Returns an unused slot, or one whose peer is no longer in use. */
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
  const words = new Int32Array(SLOT_WORDS + CELL_WORDS);
  words[EFFECTIVE_WEIGHT] = weight;
  const doubles = new Float64Array(words.buffer);
  const cells = { first: SLOT_WORDS, count: 1, step: CELL_WORDS };
  return new PeerState({ words, doubles }, { at: 0, cell: SLOT_WORDS, cells });
}

/** Returns four words that are not all zero. */
function digestOf(key: string): Int32Array {
  const bytes = createHash('sha256').update(key).digest();
  const words = Int32Array.from({ length: DIGEST_WORDS }, (_, nth) => bytes.readInt32LE(nth * 4));
  words[0] ||= 1;
  return words;
}
