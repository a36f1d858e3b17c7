import { type Memory, memoryOf } from '../header.ts';
import type { ZoneLock } from '../lock.ts';
import {
  decodeEntry,
  DROPPED_DOUBLE,
  type EntryFilter,
  generationAt,
  LAST_PUBLISH_DOUBLE,
  matches,
  NEXT_DOUBLE,
  OLDEST_DOUBLE,
  type RingEntry,
  slotOffset,
  STRIDE_BYTES,
} from './layout.ts';

/** Entries copied per acquisition of the lock. */
const CHUNK = 64;

/** Selects entries; absent texts match any. */
export interface SnapshotQuery {
  /** Only entries with a higher generation. */
  readonly since?: number;
  /** Maximum number of entries, the oldest first. */
  readonly limit?: number;
  readonly channel?: string | undefined;
  readonly type?: string | undefined;
}

/** The state of the ring, independent of the query. Generations are 0 until something has been published. */
export interface RingFacts {
  readonly capacity: number;
  readonly oldestGeneration: number;
  readonly newestGeneration: number;
  readonly droppedEvents: number;
  /** Milliseconds since the epoch. */
  readonly lastPublishMs: number;
}

/** The state and entries of one moment. No entry is torn, missing, duplicate, or older than the state says. */
export interface RingSnapshot extends RingFacts {
  /** In the order of their generations. */
  readonly entries: readonly RingEntry[];
}

/** The memory for reading a ring; belongs to one thread. */
interface RingReader {
  readonly shared: Memory;
  readonly capacity: number;
  readonly lock: Pick<ZoneLock, 'acquire' | 'release'>;
}

const staging = lazily(() => memoryOf(new ArrayBuffer(CHUNK * STRIDE_BYTES)));

/**
 * Copies the entries of a query, 64 per acquisition of the lock. Entries that publishers overwrite in between are
 * removed from the result, which is the ring at the last acquisition. Returns `undefined` if the lock could not be
 * acquired.
 */
export function takeSnapshot(reader: RingReader, query: SnapshotQuery): RingSnapshot | undefined {
  const { lock, capacity } = reader;
  const limit = query.limit ?? Infinity;
  const filter = filterOf(query);
  // Publishers that are faster than this reader would keep it busy forever. After this many releases, it holds the lock
  // until it is done.
  let releasesLeft = 2 * Math.ceil(capacity / CHUNK);
  let found: RingEntry[] = [];
  let cursor = (query.since ?? 0) + 1;
  let held = false;
  try {
    for (;;) {
      held ||= lock.acquire();
      if (!held) return undefined;
      const facts = readFacts(reader.shared, capacity);
      cursor = Math.max(cursor, facts.oldestGeneration);
      const count = copyChunk(reader, cursor, facts.newestGeneration);
      if (releasesLeft-- > 0) {
        lock.release();
        held = false;
      }
      found = withoutLost(found, facts.oldestGeneration);
      collect(found, { count, filter, limit });
      cursor += count;
      if (found.length >= limit || cursor > facts.newestGeneration) return { ...facts, entries: found };
    }
  } finally {
    if (held) lock.release();
  }
}

function filterOf({ channel, type }: SnapshotQuery): EntryFilter {
  return {
    channel: channel === undefined ? undefined : Buffer.from(channel),
    type: type === undefined ? undefined : Buffer.from(type),
  };
}

/** The caller holds the lock, or checks the sequence number of the header. */
export function readFacts({ f64 }: Memory, capacity: number): RingFacts {
  const next = f64[NEXT_DOUBLE] as number;
  return {
    capacity,
    oldestGeneration: next === 1 ? 0 : (f64[OLDEST_DOUBLE] as number),
    newestGeneration: next - 1,
    droppedEvents: f64[DROPPED_DOUBLE] as number,
    lastPublishMs: f64[LAST_PUBLISH_DOUBLE] as number,
  };
}

/** Copies up to 64 entries from generation `first` on to the staging area. The caller holds the lock. */
function copyChunk({ shared, capacity }: RingReader, first: number, newest: number): number {
  const count = Math.max(0, Math.min(CHUNK, newest - first + 1));
  const { bytes } = staging();
  let copied = 0;
  while (copied < count) {
    const from = slotOffset(first + copied, capacity);
    // Copies up to the end of the ring's memory, then continues at its start.
    const length = Math.min((count - copied) * STRIDE_BYTES, shared.bytes.length - from);
    bytes.set(shared.bytes.subarray(from, from + length), copied * STRIDE_BYTES);
    copied += length / STRIDE_BYTES;
  }
  return count;
}

function collect(found: RingEntry[], chunk: { count: number; filter: EntryFilter; limit: number }): void {
  const memory = staging();
  for (let at = 0; at < chunk.count * STRIDE_BYTES && found.length < chunk.limit; at += STRIDE_BYTES) {
    // A half-written slot of a dead publisher has no generation.
    if (generationAt(memory, at) !== 0 && matches(memory, at, chunk.filter))
      found.push(decodeEntry(memory, at));
  }
}

function withoutLost(found: RingEntry[], oldestGeneration: number): RingEntry[] {
  const kept = found.findIndex(({ generation }) => generation >= oldestGeneration);
  if (kept === 0 || found.length === 0) return found;
  return kept === -1 ? [] : found.slice(kept);
}

function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
