import type { ErrorLog } from '../../../log/index.ts';
import {
  type ConnectionOwner,
  type Endpoint,
  type Push,
  RedisConnection,
  ReplyError,
} from '../../../redis/index.ts';
import type { Versions } from '../versions.ts';

/** The state of tracking of one store, which the workers share. Cloneable. */
export type SharedTracking = SharedArrayBuffer;

/**
 * Creates the shared state of one store, once per process. Its cells are the worker that tracks the store, the time
 * of its last check, the end of its lease, and whether the store supports no tracking.
 */
export function openTracking(): SharedTracking {
  return new SharedArrayBuffer(16);
}

const HOLDER = 0;
const BEAT = 1;
const LEASE = 2;
const UNTRACKED = 3;
/** The workers rely on the one that tracks for this time after its last check. */
const LEASE_MS = 1_000;
const RENEW_MS = 250;
/** The connection is closed if a PING has no response for this time. */
const SILENCE_MS = 1_000;
/** Maximum bytes of one announcement, which names all keys of a transaction. */
const MOST_BYTES = 16_777_216;

interface TrackingParts {
  readonly shared: SharedTracking;
  readonly workerId: number;
  readonly endpoints: readonly Endpoint[];
  readonly connectTimeoutMs: number;
  readonly versions: Versions;
  readonly log: ErrorLog;
}

/**
 * Follows the changes of a store (`CLIENT TRACKING` with BCAST, Redis 6 and Valkey). One worker does it for all workers
 * of the process; when it ends or hangs, another one takes over.
 */
export class Tracking {
  readonly #parts: TrackingParts;
  readonly #cells: Int32Array;
  readonly #timer: NodeJS.Timeout;
  #connections: readonly TrackedConnection[] = [];

  constructor(parts: TrackingParts) {
    this.#parts = parts;
    this.#cells = new Int32Array(parts.shared);
    this.#timer = setInterval(() => this.#check(), RENEW_MS).unref();
    this.#check();
  }

  /** `live`: changes are received. `down`: they are missed. `untracked`: the store does not announce them. */
  get state(): 'live' | 'down' | 'untracked' {
    if (Atomics.load(this.#cells, UNTRACKED) !== 0) return 'untracked';
    return this.#isHeld ? 'live' : 'down';
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#release();
    const { workerId } = this.#parts;
    if (Atomics.compareExchange(this.#cells, HOLDER, workerId, 0) === workerId)
      Atomics.store(this.#cells, LEASE, 0);
  }

  get #isHeld(): boolean {
    const untilMs = Atomics.load(this.#cells, LEASE);
    return untilMs !== 0 && ((untilMs - Date.now()) | 0) > 0;
  }

  /** True if the worker that tracks is running, whether or not it reaches the store. */
  get #isHolderAlive(): boolean {
    return ((Date.now() - Atomics.load(this.#cells, BEAT)) | 0) < LEASE_MS;
  }

  #check(): void {
    const { workerId } = this.#parts;
    const holder = Atomics.load(this.#cells, HOLDER);
    if (holder !== workerId) {
      this.#release();
      const isFree = holder === 0 || !this.#isHolderAlive;
      if (!isFree || Atomics.compareExchange(this.#cells, HOLDER, holder, workerId) !== holder) return;
    }
    Atomics.store(this.#cells, BEAT, Date.now() | 0);
    if (this.#connections.length === 0) this.#open();
    for (const connection of this.#connections) connection.check();
    this.#renew();
  }

  #open(): void {
    const { endpoints, connectTimeoutMs, log } = this.#parts;
    const events = {
      log,
      changed: (keys: readonly Buffer[] | null) => this.#changed(keys),
      tracked: () => this.#renew(true),
      lost: () => Atomics.store(this.#cells, LEASE, 0),
      refused: () => Atomics.store(this.#cells, UNTRACKED, 1),
    };
    this.#connections = endpoints.map(
      (endpoint) => new TrackedConnection(endpoint, connectTimeoutMs, events),
    );
  }

  #release(): void {
    for (const connection of this.#connections) connection.close();
    this.#connections = [];
  }

  /** Renews the lease if all servers are tracked. `isNew`: earlier changes may have been missed. */
  #renew(isNew = false): void {
    if (!this.#connections.every(({ isTracked }) => isTracked)) return;
    if (isNew) this.#parts.versions.changeAll();
    Atomics.store(this.#cells, UNTRACKED, 0);
    Atomics.store(this.#cells, LEASE, (Date.now() + LEASE_MS) | 0 || 1);
  }

  #changed(keys: readonly Buffer[] | null): void {
    const { versions } = this.#parts;
    if (keys === null) return versions.changeAll();
    for (const key of keys) versions.change(key);
  }
}

interface TrackingEvents {
  readonly log: ErrorLog;
  /** `null`: all keys. */
  changed(keys: readonly Buffer[] | null): void;
  tracked(): void;
  lost(): void;
  /** The store does not support tracking. */
  refused(): void;
}

/** One connection that receives all changes of a server. */
class TrackedConnection implements ConnectionOwner {
  isTracked = false;
  readonly #connection: RedisConnection;
  readonly #events: TrackingEvents;
  #isRefused = false;
  #hasWarned = false;
  #askedMs = 0;

  constructor(endpoint: Endpoint, connectTimeoutMs: number, events: TrackingEvents) {
    this.#events = events;
    const clock = { nowMs: () => performance.now() };
    this.#connection = new RedisConnection(
      endpoint,
      { clock, connectTimeoutMs, maxReplyBytes: MOST_BYTES },
      this,
    );
  }

  close(): void {
    this.isTracked = false;
    this.#connection.close();
  }

  /** Closes the connection to a silent server, whose changes may be missed. */
  check(): void {
    const nowMs = performance.now();
    if (!this.isTracked) return;
    if (this.#askedMs === 0) {
      this.#askedMs = nowMs;
      // An error, too, shows that the server responds.
      this.#ask('ping', [], { done: () => (this.#askedMs = 0), refused: () => (this.#askedMs = 0) });
    } else if (nowMs - this.#askedMs > SILENCE_MS) this.#connection.giveUp('silent while it is tracked');
  }

  up(): void {
    this.#askedMs = 0;
    this.#isRefused = false;
    const refused = (error: ReplyError): void => this.#refuse(error);
    this.#ask('hello', ['3'], { done: () => undefined, refused });
    const done = (): void => {
      // Without version 3 of the protocol, announcements would not reach this connection.
      if (this.#isRefused) return;
      this.isTracked = true;
      this.#events.tracked();
    };
    this.#ask('client', ['tracking', 'on', 'bcast'], { done, refused });
  }

  down(connection: RedisConnection, reason: string): void {
    this.isTracked = false;
    this.#events.lost();
    const text = `kv: changes of ${connection.label} are not heard, so its cached replies are not served: ${reason}`;
    this.#events.log.write('warn', text);
  }

  pushed([kind, keys]: Push): void {
    if (String(kind) !== 'invalidate') return;
    this.#events.changed(Array.isArray(keys) ? keys.filter((key) => Buffer.isBuffer(key)) : null);
  }

  #ask(name: string, args: readonly string[], { done, refused }: Answers): void {
    this.#connection.send({
      name,
      args,
      next: undefined,
      failed: () => undefined,
      unsent: () => undefined,
      replied: (reply) => (reply instanceof ReplyError ? refused(reply) : done()),
    });
  }

  /** Handles an error reply: tracking is retried if the store is starting, and given up otherwise. */
  #refuse({ message }: ReplyError): void {
    if (/^(?:LOADING|MASTERDOWN|BUSY)\b/.test(message))
      return this.#connection.giveUp('the store is not ready');
    const { label } = this.#connection;
    const text = `kv: ${label} does not announce changes: its replies stay in a cache for 1s at most`;
    if (!this.#hasWarned) this.#events.log.write('warn', text);
    this.#isRefused = this.#hasWarned = true;
    this.#events.refused();
  }
}

/** Called with a reply, or with an error reply. */
interface Answers {
  done(): void;
  refused(error: ReplyError): void;
}
