import { Heartbeat } from '../../../event-streams.ts';
import type { Ring } from '../../../zone/index.ts';
import { readNotification } from '../database/index.ts';

/** A read that follows the changes of a table. */
export interface Follower {
  /** `schema.table`. */
  readonly table: string;
  /** Called when these rows, or any rows, may have changed. `generation`: the latest announcement that this covers. */
  changed(keys: ReadonlySet<string> | 'any', generation: number): void;
}

/** Announcements that come closer together are taken together. */
const BURST_MS = 20;

/** Rows that may have changed, by table. */
type Changes = Map<string, Set<string> | 'any'>;

/**
 * The announced changes of one database, in one worker: reads them from the ring and tells the followers of their
 * tables, a burst at a time.
 */
export class ChangeFeed {
  readonly heartbeat = new Heartbeat();
  /** Rows that all followers keep track of together. */
  known = 0;
  readonly snapshots = new Snapshots();
  readonly lingering = new Lingering();
  /** Identifies the ring, because another one counts its generations from 1; has no `-`. */
  readonly epoch: string;
  readonly ring: Ring;
  readonly #followers = new Map<string, Set<Follower>>();
  readonly #reads = new Turns(MOST_READS);
  #next = 1;
  #lastMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #unwatch: (() => void) | undefined;

  constructor(ring: Ring, epoch: string) {
    this.ring = ring;
    this.epoch = epoch;
  }

  /** The latest announcement that followers have been told of. */
  get generation(): number {
    return this.#next - 1;
  }

  /** The number of followers. */
  get size(): number {
    let size = 0;
    for (const siblings of this.#followers.values()) size += siblings.size;
    return size;
  }

  /** Adds a follower of all later announcements. Returns the function that removes it. */
  follow(follower: Follower): () => void {
    if (!this.#unwatch) {
      this.#next = (this.ring.range()?.newest ?? 0) + 1;
      this.#unwatch = this.ring.watch(() => this.#wake());
    }
    const siblings = this.#followers.get(follower.table) ?? new Set<Follower>();
    this.#followers.set(follower.table, siblings.add(follower));
    return () => {
      siblings.delete(follower);
      if (siblings.size === 0) this.#followers.delete(follower.table);
      if (this.#followers.size === 0) this.close();
    };
  }

  /** Leaves half of a pool of this size to requests. */
  spare(poolSize: number): void {
    this.#reads.most = Math.max(1, Math.min(MOST_READS, Math.floor(poolSize / 2)));
  }

  /** Runs a read when it is its turn: followers must not take all sessions from requests. */
  read<T>(run: () => Promise<T>): Promise<T> {
    return this.#reads.take(run);
  }

  close(): void {
    this.heartbeat.close();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  #wake(): void {
    const waitMs = this.#lastMs + BURST_MS - performance.now();
    this.#timer ??= setTimeout(() => this.#take(), Math.max(0, waitMs));
  }

  #take(): void {
    this.#timer = undefined;
    this.#lastMs = performance.now();
    const changes = this.#collect();
    if (changes === 'lost') {
      for (const siblings of this.#followers.values())
        for (const follower of siblings) follower.changed('any', this.generation);
      return;
    }
    for (const [table, keys] of changes)
      for (const follower of this.#followers.get(table) ?? []) follower.changed(keys, this.generation);
  }

  /** Reads the new announcements; 'lost' if some of them were overwritten. */
  #collect(): Changes | 'lost' {
    const changes: Changes = new Map();
    let isLost = false;
    for (;;) {
      const range = this.ring.range();
      if (!range) {
        // A publisher is changing the header; it wakes this feed afterwards.
        break;
      }
      if (this.#next < range.oldest) {
        isLost = true;
        this.#next = range.oldest;
      }
      if (this.#next > range.newest) break;
      const read = readNotification(this.ring, this.#next);
      // It was overwritten meanwhile.
      if (!read) isLost = true;
      else if (read.kind === 'gap') isLost = true;
      else if (read.kind === 'notification') note(changes, read.payload);
      this.#next += 1;
    }
    return isLost ? 'lost' : changes;
  }
}

function note(changes: Changes, payload: string): void {
  const announced = readAnnouncement(payload);
  if (!announced) return;
  const { table, key } = announced;
  const keys = changes.get(table) ?? new Set<string>();
  if (key === undefined || keys === 'any') changes.set(table, 'any');
  else changes.set(table, keys.add(key));
}

/** Most reads of followers that run at a time, in one worker and for one database. */
const MOST_READS = 8;

/** Limits how many run at a time; the others wait in their order. */
class Turns {
  most: number;
  /** In their order: a set is a queue that is cheap at both ends. */
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(most: number) {
    this.most = most;
  }

  async take<T>(run: () => Promise<T>): Promise<T> {
    if (this.#running < this.most) this.#running += 1;
    else await new Promise<void>((resolve) => void this.#waiting.add(resolve));
    try {
      return await run();
    } finally {
      const [next] = this.#waiting;
      if (next) {
        this.#waiting.delete(next);
        next();
      } else this.#running -= 1;
    }
  }
}

/** A change of a row, as the triggers of `gw db setup --watch` announce it. */
interface Announcement {
  /** `schema.table`. */
  readonly table: string;
  /** The key of the row as text of `jsonb`; `undefined`: any row may have changed. */
  readonly key: string | undefined;
}

const FORM = /^\{"table":("(?:[^"\\]|\\.)*"),"op":"[A-Z]+","key":(.*)\}$/s;

/**
 * Reads an announcement. Its key stays text: numbers of JavaScript would not hold all keys. Any role may notify, so
 * text that no trigger has written gives `undefined`, or no key.
 */
function readAnnouncement(payload: string): Announcement | undefined {
  const [, table, key] = FORM.exec(payload) ?? [];
  if (table === undefined || key === undefined) return undefined;
  try {
    return { table: JSON.parse(table) as string, key: isObject(key) ? key : undefined };
  } catch {
    return undefined;
  }
}

function isObject(json: string): boolean {
  if (!json.startsWith('{')) return false;
  JSON.parse(json);
  return true;
}

/** Time for which a read is still followed after its last client has left: a client that was cut off comes back. */
const LINGER_MS = 10_000;
/** Most such reads. Each is read with every change of its table, and one client could leave any number behind. */
const MOST_LINGERING = 64;

/** A followed read. */
interface Ending {
  end(): void;
}

/** The followed reads of a database that have no clients at present, in one worker. */
class Lingering {
  /** The one that was left first comes first. */
  readonly #timers = new Map<Ending, NodeJS.Timeout>();

  /** Ends a read after a while, or sooner if there are too many. */
  add(read: Ending): void {
    // Changes do not prolong it.
    if (this.#timers.has(read)) return;
    const end = (): void => read.end();
    this.#timers.set(read, setTimeout(end, LINGER_MS).unref());
    const [first] = this.#timers.keys();
    if (this.#timers.size > MOST_LINGERING) first?.end();
  }

  /** The read has a client again, or has ended. */
  remove(read: Ending): void {
    clearTimeout(this.#timers.get(read));
    this.#timers.delete(read);
  }
}

/** Most bytes of snapshots that are kept or being sent, for one database and in one worker. */
const MOST_BYTES = 268_435_456;

/** The position of a snapshot in a log. */
interface SnapshotPlace {
  /** Position of the first burst after it. */
  readonly from: number;
  /** Bytes that were logged before it. */
  readonly loggedBytes: number;
}

/** A user of a snapshot. The bytes count until the last one releases it. */
type Holder = object;

/** The rows of a followed read at one moment, as they are sent. */
export class Snapshot implements SnapshotPlace {
  readonly bytes: Buffer;
  readonly from: number;
  readonly loggedBytes: number;
  readonly #holders = new Set<Holder>();
  readonly #count: (bytes: number) => void;

  constructor(bytes: Buffer, { from, loggedBytes }: SnapshotPlace, count: (bytes: number) => void) {
    this.bytes = bytes;
    this.from = from;
    this.loggedBytes = loggedBytes;
    this.#count = count;
  }

  hold(holder: Holder): void {
    if (this.#holders.size === 0) this.#count(this.bytes.length);
    this.#holders.add(holder);
  }

  release(holder: Holder): void {
    if (this.#holders.delete(holder) && this.#holders.size === 0) this.#count(-this.bytes.length);
  }
}

/** The snapshots of all followed reads. Each read keeps its latest one for later clients, as long as there is room. */
export class Snapshots {
  readonly #mostBytes: number;
  /** By the read that keeps it, the longest kept first. */
  readonly #kept = new Map<Holder, Snapshot>();
  #bytes = 0;

  constructor(mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** Makes a snapshot that its read keeps instead of the one before; `undefined` if slow clients take all the room. */
  add(holder: Holder, text: string, place: SnapshotPlace): Snapshot | undefined {
    this.drop(holder);
    const bytes = Buffer.from(text);
    for (const other of this.#kept.keys()) {
      if (this.#bytes + bytes.length <= this.#mostBytes) break;
      this.drop(other);
    }
    if (this.#bytes + bytes.length > this.#mostBytes) return undefined;
    const snapshot = new Snapshot(bytes, place, (more) => (this.#bytes += more));
    snapshot.hold(holder);
    this.#kept.set(holder, snapshot);
    return snapshot;
  }

  of(holder: Holder): Snapshot | undefined {
    return this.#kept.get(holder);
  }

  /** Drops the snapshot that a read keeps. */
  drop(holder: Holder): void {
    this.#kept.get(holder)?.release(holder);
    this.#kept.delete(holder);
  }
}
