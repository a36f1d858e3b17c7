import { type Memory, memoryOf } from '../header.ts';
import { setAlive, ZoneLock } from '../lock.ts';
import { announce, WakeUp } from '../wake-up.ts';
import { repairRing, ringCapacity } from './kind.ts';
import {
  COUNTER,
  decodeEntry,
  DROPPED_DOUBLE,
  encodeEvent,
  generationAt,
  isWhole,
  LAST_PUBLISH_DOUBLE,
  NEXT_DOUBLE,
  OLDEST_DOUBLE,
  ORIGIN,
  ORIGIN_SEQUENCE,
  POSITION,
  POSITION_DOUBLE,
  type ReceivedEvent,
  type RingEntry,
  type RingEvent,
  SEQUENCE_WORD,
  SHARED_FROM_DOUBLE,
  STREAM_DOUBLE,
  slotOffset,
  stampEntry,
  STRIDE_BYTES,
  STRIDE_WORDS,
  WAKE_WORD,
} from './layout.ts';
import {
  readFacts,
  type RingFacts,
  type RingSnapshot,
  type SnapshotQuery,
  takeSnapshot,
} from './snapshot.ts';

/** The fields of an event of this process, which is not in a stream yet. */
const OWN = { counter: 0, sequence: 0, origin: 0 } as const;

/** Number of tries to copy a slot without the lock while it is being written. */
const READ_ATTEMPTS = 100;

/** The result of a publish. */
interface Published {
  readonly generation: number;
  /** True if the oldest entry was overwritten. */
  readonly evicted: boolean;
}

/** An event of this process and its counter in the stream. */
interface ConfirmedEvent {
  readonly generation: number;
  readonly counter: number;
}

/** The range of generations in the ring; `oldest` is greater than `newest` if it is empty. */
interface RingRange {
  readonly oldest: number;
  readonly newest: number;
}

/**
 * Opens the ring of a zone for this thread. `threadId` is 0 in the master, else the worker's id, 1 to 511; it
 * identifies the thread if it dies while holding the lock. Throws if the memory holds no ring.
 */
export function openRing(buffer: SharedArrayBuffer, threadId: number): Ring {
  return new Ring(buffer, threadId);
}

/**
 * The event ring of one zone, as one thread sees it. Channels are labels; generations count from 1 over all channels.
 */
export class Ring {
  readonly capacity: number;
  readonly #shared: Memory;
  readonly #lock: ZoneLock;
  readonly #wakeUp: WakeUp;
  /** Private memory for one entry, which is built here before it is published, and copied here to be read. */
  readonly #image = memoryOf(new ArrayBuffer(STRIDE_BYTES));
  readonly #readRange = (): RingRange => ({
    oldest: this.#shared.f64[OLDEST_DOUBLE] as number,
    newest: (this.#shared.f64[NEXT_DOUBLE] as number) - 1,
  });
  readonly #readFacts = (): RingFacts => readFacts(this.#shared, this.capacity);

  constructor(buffer: SharedArrayBuffer, threadId: number) {
    this.capacity = ringCapacity(buffer);
    this.#shared = memoryOf(buffer);
    setAlive(this.#shared.i32, threadId);
    this.#lock = new ZoneLock(this.#shared.i32, threadId, () => repairRing(this.#shared, this.capacity));
    this.#wakeUp = new WakeUp(this.#shared.i32, WAKE_WORD);
  }

  /**
   * Appends an event and wakes all threads that watch the ring. Returns `undefined` if the lock could not be acquired
   * in 250 ms. Throws a RangeError for a text beyond `EVENT_LIMITS` or an empty channel or type.
   */
  publish(event: RingEvent): Published | undefined {
    const usedBytes = encodeEvent(this.#image, event);
    if (!this.#lock.acquire()) return undefined;
    let published: Published;
    try {
      published = this.#append(usedBytes);
    } finally {
      this.#lock.release();
    }
    announce(this.#shared.i32, WAKE_WORD);
    return published;
  }

  /**
   * Appends events without events of other threads between them. Returns the generation of the last one; otherwise
   * works as `publish`.
   */
  publishAll(events: readonly RingEvent[]): number | undefined {
    return this.#appendAll(events, () => undefined);
  }

  /**
   * Appends events of other processes, with their own times and without events of other threads between them. The
   * position moves with each, so that every event is received once even if this thread dies. Returns the same as
   * `publishAll`; 0 if the position is not `behind`, since another thread has gone on. Throws a RangeError as `publish`
   * does for an event beyond the limits; those before it have been received.
   */
  receive(events: readonly ReceivedEvent[], behind = this.position): number | undefined {
    return this.#appendAll(events, (event) => event, behind);
  }

  /**
   * Records the counters in the stream for events of this process, and wakes all threads that watch the ring. Events
   * that were overwritten or received, or that have their counter, are skipped. Returns the number of the others;
   * `undefined` if the lock could not be acquired in 250 ms.
   */
  confirm(events: readonly ConfirmedEvent[]): number | undefined {
    const count = this.#locked(() => events.filter((event) => this.#confirm(event)).length);
    if (count !== undefined && count > 0) announce(this.#shared.i32, WAKE_WORD);
    return count;
  }

  /**
   * Everything that the stream has up to this counter is in the ring; 0 if nothing was received. It decreases when the
   * store has lost its last entries.
   */
  get position(): number {
    return this.#shared.f64[POSITION_DOUBLE] as number;
  }

  /**
   * Sets the position when there was nothing to receive. Returns false, without changing it, if the lock could not be
   * acquired in 250 ms.
   */
  movePosition(counter: number): boolean {
    return this.#locked(() => (this.#shared.f64[POSITION_DOUBLE] = counter)) !== undefined;
  }

  /** The first generation that may be missing in the stream (all later ones are); 0: the ring is not shared. */
  get sharedFrom(): number {
    return this.#shared.f64[SHARED_FROM_DOUBLE] as number;
  }

  /**
   * Shares the events from now on in the stream with this number, unless the ring is shared there already. Returns
   * `sharedFrom`; `undefined` if the lock could not be acquired in 250 ms.
   */
  share(stream: number): number | undefined {
    const { f64 } = this.#shared;
    return this.#locked(() => {
      if (f64[STREAM_DOUBLE] === stream && this.sharedFrom !== 0) return this.sharedFrom;
      f64[STREAM_DOUBLE] = stream;
      f64[POSITION_DOUBLE] = 0;
      return (f64[SHARED_FROM_DOUBLE] = f64[NEXT_DOUBLE] as number);
    });
  }

  /** Records that the stream has the events before this generation. Does nothing if the ring is not shared. */
  sharedUpTo(generation: number): void {
    const { f64 } = this.#shared;
    this.#locked(() => {
      if (this.sharedFrom !== 0) f64[SHARED_FROM_DOUBLE] = Math.max(this.sharedFrom, generation);
    });
  }

  /** Ends the sharing of later events. */
  unshare(): void {
    this.#locked(() => (this.#shared.f64[SHARED_FROM_DOUBLE] = 0));
  }

  /**
   * Lets the first event have this generation: the ring goes on where one of another process has ended. Returns false,
   * without changing anything, if an event was published already or the lock could not be acquired in 250 ms.
   */
  beginAt(generation: number): boolean {
    const { f64 } = this.#shared;
    const hasBegun = this.#locked(() => {
      if (f64[NEXT_DOUBLE] !== 1) return false;
      f64[OLDEST_DOUBLE] = generation;
      f64[NEXT_DOUBLE] = generation;
      f64[DROPPED_DOUBLE] = generation - 1;
      return true;
    });
    return hasBegun === true;
  }

  /** Returns the content of the ring at one moment; `undefined` if the lock could not be acquired in 250 ms. */
  snapshot(query: SnapshotQuery = {}): RingSnapshot | undefined {
    return takeSnapshot({ shared: this.#shared, capacity: this.capacity, lock: this.#lock }, query);
  }

  /** Returns one entry, without taking the lock. `undefined` if it was overwritten or is not complete yet. */
  read(generation: number): RingEntry | undefined {
    const at = slotOffset(generation, this.capacity);
    for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      if (!this.#copySlot(at)) continue;
      if (generationAt(this.#image, 0) !== generation) return undefined;
      // Plain stores may pass an atomic one on ARM: the sequence alone does not prove the copy.
      if (isWhole(this.#image, 0)) return decodeEntry(this.#image, 0);
    }
    return undefined;
  }

  /**
   * Returns the range of generations without taking the lock; `undefined` in the rare case that publishers were writing
   * at every try.
   */
  range(): RingRange | undefined {
    return this.#unlocked(this.#readRange);
  }

  /** Returns the state of the ring at one moment as `range` does. */
  facts(): RingFacts | undefined {
    return this.#unlocked(this.#readFacts);
  }

  #unlocked<T>(read: () => T): T | undefined {
    const { i32 } = this.#shared;
    for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      const before = Atomics.load(i32, SEQUENCE_WORD);
      if ((before & 1) !== 0) continue;
      const state = read();
      if (Atomics.load(i32, SEQUENCE_WORD) === before) return state;
    }
    return undefined;
  }

  /**
   * Calls `listener` after publishes in any thread, once for several in quick succession. Returns the function that
   * ends it. Neither polls nor keeps the thread alive.
   */
  watch(listener: () => void): () => void {
    return this.#wakeUp.listen(listener);
  }

  /** Runs `act` under the lock. Returns `undefined` if the lock could not be acquired in 250 ms. */
  #locked<T>(act: () => T): T | undefined {
    if (!this.#lock.acquire()) return undefined;
    try {
      return act();
    } finally {
      this.#lock.release();
    }
  }

  #appendAll<E extends RingEvent>(
    events: readonly E[],
    receivedOf: (event: E) => ReceivedEvent | undefined,
    behind?: number,
  ): number | undefined {
    let last = 0;
    try {
      return this.#locked(() => {
        if (behind !== undefined && behind !== this.position) return 0;
        for (const event of events)
          last = this.#append(encodeEvent(this.#image, event), receivedOf(event)).generation;
        return last;
      });
    } finally {
      // Also announces events before one that was refused.
      if (last !== 0) announce(this.#shared.i32, WAKE_WORD);
    }
  }

  /** Must be called under the lock. */
  #confirm({ generation, counter }: ConfirmedEvent): boolean {
    const { u32, f64 } = this.#shared;
    const at = slotOffset(generation, this.capacity);
    if (generationAt(this.#shared, at) !== generation || u32[(at + ORIGIN) >> 2] !== 0) return false;
    if (f64[(at + COUNTER) >> 3] === counter) return false;
    // A single store, and the slot stays readable: a complete entry must never seem to be missing.
    f64[(at + COUNTER) >> 3] = counter;
    return true;
  }

  /**
   * Must be called under the lock. Appends the event in the first `usedBytes` of the image as the next entry: a
   * received one, or one of this process.
   */
  #append(usedBytes: number, received?: ReceivedEvent): Published {
    const { i32, u32, f64 } = this.#shared;
    const generation = f64[NEXT_DOUBLE] as number;
    const oldest = f64[OLDEST_DOUBLE] as number;
    const evicted = generation - oldest >= this.capacity;
    const createdMs = received ? received.timestampMs : Date.now();
    const position = received ? received.counter : (f64[POSITION_DOUBLE] as number);
    const { counter, sequence, origin } = received ?? OWN;
    this.#image.f64[POSITION >> 3] = position;
    stampEntry(this.#image, generation, createdMs);

    const at = slotOffset(generation, this.capacity);
    const slot = at >> 2;
    const words = (usedBytes + 3) >> 2;
    Atomics.or(i32, slot, 1);
    for (let word = 1; word < words; word++) i32[slot + word] = this.#image.i32[word] as number;
    f64[(at + COUNTER) >> 3] = counter;
    f64[(at + ORIGIN_SEQUENCE) >> 3] = sequence;
    u32[(at + ORIGIN) >> 2] = origin;
    Atomics.add(i32, slot, 1);

    Atomics.add(i32, SEQUENCE_WORD, 1);
    f64[NEXT_DOUBLE] = generation + 1;
    if (evicted) {
      f64[OLDEST_DOUBLE] = oldest + 1;
      f64[DROPPED_DOUBLE] = oldest;
    }
    f64[LAST_PUBLISH_DOUBLE] = createdMs;
    f64[POSITION_DOUBLE] = position;
    Atomics.add(i32, SEQUENCE_WORD, 1);
    return { generation, evicted };
  }

  /** Copies a slot to the image; returns false if it was being written. */
  #copySlot(at: number): boolean {
    const { i32, f64 } = this.#shared;
    const slot = at >> 2;
    const before = Atomics.load(i32, slot);
    if ((before & 1) !== 0) return false;
    for (let word = 1; word < STRIDE_WORDS; word++) this.#image.i32[word] = i32[slot + word] as number;
    // `confirm` may change the counter between its two words.
    this.#image.f64[COUNTER >> 3] = f64[(at + COUNTER) >> 3] as number;
    // The checksum does not cover all fields. Plain loads may pass an atomic load on ARM, but not a read-modify-write.
    Atomics.or(this.#image.i32, 0, 0);
    return Atomics.load(i32, slot) === before;
  }
}
