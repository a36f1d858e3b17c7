/** Why a pool gave no resource: queue full, waited too long, peer unreachable, pool closed, caller gone. */
type RefusalReason = 'full' | 'late' | 'unreachable' | 'closed' | 'abandoned';

/** The error of a refused `acquire`; `cause` is the peer's error if it is unreachable. */
export class PoolRefusal extends Error {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, cause?: Error) {
    super(cause?.message ?? `pool: ${reason}`, { cause });
    this.reason = reason;
  }
}

const OPENS_AFTER = 3;
const FIRST_DELAY_MS = 100;
/** Below 2 s, so that service resumes within that time after the peer is back. */
const LONGEST_DELAY_MS = 1_500;

/**
 * A circuit breaker. After three failures in a row it opens; a single probe then tries again with growing delays until
 * one succeeds.
 */
class Circuit {
  /** The error of the last failure; cleared by a success. */
  lastError: Error | undefined;
  readonly #probe: () => void;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(probe: () => void) {
    this.#probe = probe;
  }

  get open(): boolean {
    return this.#failures >= OPENS_AFTER;
  }

  failed(error: Error): void {
    this.#failures += 1;
    this.lastError = error;
    if (!this.open || this.#timer) return;
    const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.#failures - OPENS_AFTER));
    this.#timer = setTimeout(this.#fire, delayMs).unref();
  }

  succeeded(): void {
    this.#failures = 0;
    this.lastError = undefined;
    this.stop();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  readonly #fire = (): void => {
    this.#timer = undefined;
    this.#probe();
  };
}

/** A caller that waits for a resource; first come, first served. */
interface Waiter<T> {
  readonly give: (resource: T) => void;
  readonly refuse: (error: Error) => void;
  /** True if the caller no longer needs the resource: the waiter is dropped instead of served. */
  readonly abandoned: (() => boolean) | undefined;
}

/** Waiters in order of arrival, each with its own time limit. */
class WaitingQueue<T> {
  readonly #timers = new Map<Waiter<T>, NodeJS.Timeout>();

  get length(): number {
    return this.#timers.size;
  }

  /** Calls `late` after `waitMs` unless the waiter has been taken. */
  add(waiter: Waiter<T>, waitMs: number, late: () => void): void {
    const expire = (): void => {
      if (this.#timers.delete(waiter)) late();
    };
    this.#timers.set(waiter, setTimeout(expire, waitMs));
  }

  /** Removes and returns the first waiter that has not been abandoned. */
  take(): Waiter<T> | undefined {
    for (const waiter of this.#timers.keys()) {
      this.#remove(waiter);
      if (!waiter.abandoned?.()) return waiter;
      waiter.refuse(new PoolRefusal('abandoned'));
    }
    return undefined;
  }

  /** Removes the abandoned waiters. */
  dropAbandoned(): void {
    for (const waiter of this.#timers.keys()) {
      if (!waiter.abandoned?.()) continue;
      this.#remove(waiter);
      waiter.refuse(new PoolRefusal('abandoned'));
    }
  }

  #remove(waiter: Waiter<T>): void {
    clearTimeout(this.#timers.get(waiter));
    this.#timers.delete(waiter);
  }
}

/** The bounds of a pool. */
export interface PoolBounds {
  readonly size: number;
  /** A resource older than this is closed, but not while it is in use. */
  readonly maxAgeMs: number;
}

/** How a pool opens and closes its resources. */
interface PoolOptions<T> extends PoolBounds {
  open(): Promise<T>;
  close(resource: T): void | Promise<void>;
  /**
   * Called when an attempt fails and no resource is open, and when the circuit opens, with the error; with `undefined` when the
   * peer is back.
   */
  unreachable?(error: Error | undefined): void;
}

/** The limits of one caller: how long to wait, and behind how many others. */
interface AcquireRules {
  readonly waitMs: number;
  readonly queueLimit: number;
  readonly abandoned?: () => boolean;
}

/** The fill level of a pool. */
export interface PoolLevel {
  readonly max: number;
  /** Idle, or still to be opened. */
  readonly available: number;
  readonly waiting: number;
}

/**
 * A pool of at most `size` resources, opened on demand, the most recently used first, with a bounded queue of waiters.
 * While the peer is unreachable, callers are refused immediately and a single probe tries to open a resource.
 */
export class Pool<T extends object> {
  readonly #options: PoolOptions<T>;
  readonly #idle: T[] = [];
  /** All open resources, idle or in use, and when they were opened. */
  readonly #openedMs = new Map<T, number>();
  readonly #queue = new WaitingQueue<T>();
  readonly #circuit = new Circuit(() => void this.#openOne());
  #bounds: PoolBounds;
  #agingTimer: NodeJS.Timeout | undefined;
  /** When the next idle resource reaches its age. */
  #agedMs = Infinity;
  #opening = 0;
  /** As `unreachable` was told. */
  #isUnreachable = false;
  #closed = false;
  #whenEmpty: (() => void) | undefined;

  constructor(options: PoolOptions<T>) {
    this.#options = options;
    this.#bounds = options;
  }

  get level(): PoolLevel {
    const used = this.#openedMs.size - this.#idle.length + this.#opening;
    const { size: max } = this.#bounds;
    return { max, available: Math.max(0, max - used), waiting: this.waiting };
  }

  /** How many resources can be acquired without waiting. */
  get idle(): number {
    return this.#idle.length;
  }

  /** How many callers wait for a resource. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Resolves with a resource or rejects with a `PoolRefusal`. Each resource must be released once. */
  acquire(rules: AcquireRules): Promise<T> {
    if (this.#closed) return Promise.reject(new PoolRefusal('closed'));
    const idle = this.#idle.pop();
    if (idle) return Promise.resolve(idle);
    if (this.#circuit.open && this.#openedMs.size === 0) {
      return Promise.reject(new PoolRefusal('unreachable', this.#circuit.lastError));
    }
    if (this.#queue.length >= rules.queueLimit + this.#opening) this.#queue.dropAbandoned();
    const mayOpen = this.#mayOpen();
    if (!mayOpen && this.#queue.length >= rules.queueLimit + this.#opening) {
      return Promise.reject(new PoolRefusal('full'));
    }
    return new Promise<T>((give, refuse) => {
      this.#queue.add({ give, refuse, abandoned: rules.abandoned }, rules.waitMs, () =>
        refuse(new PoolRefusal('late')),
      );
      if (mayOpen) void this.#openOne();
    });
  }

  /** Opens another resource, unless one is being opened or the pool has its size. */
  grow(): void {
    if (this.#opening === 0 && !this.#closed && this.#mayOpen()) void this.#openOne();
  }

  /** Returns a resource to the pool; `broken` closes it. */
  release(resource: T, broken = false): void {
    if (!this.#openedMs.has(resource)) return;
    const isSurplus = this.#openedMs.size > this.#bounds.size;
    if (broken || this.#closed || isSurplus || this.isAged(resource)) return this.discard(resource);
    this.#hand(resource);
  }

  /** Closes a broken resource, idle or in use; a new one is opened for the next waiter. */
  discard(resource: T): void {
    if (!this.#openedMs.delete(resource)) return;
    const position = this.#idle.indexOf(resource);
    if (position >= 0) this.#idle.splice(position, 1);
    void this.#end(resource);
    this.#openForWaiters();
  }

  /** Closes all idle resources, for example because the peer has closed others. */
  discardIdle(): void {
    for (const resource of this.#idle.slice()) this.discard(resource);
  }

  /** Closes all resources that are open now: idle ones at once, others when they are released. */
  renew(): void {
    for (const resource of this.#openedMs.keys()) this.#openedMs.set(resource, -Infinity);
    this.discardIdle();
  }

  /** A smaller size takes effect as resources come back, an age at once for idle ones. */
  adjust(bounds: PoolBounds): void {
    this.#bounds = bounds;
    this.#discardAged();
  }

  /** Returns whether a resource is to be closed when it is released. */
  isAged(resource: T): boolean {
    return Date.now() - (this.#openedMs.get(resource) ?? Infinity) > this.#bounds.maxAgeMs;
  }

  /** Refuses all waiters. Resolves when every resource has been released and closed. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#circuit.stop();
    clearTimeout(this.#agingTimer);
    for (let waiter = this.#queue.take(); waiter; waiter = this.#queue.take())
      waiter.refuse(new PoolRefusal('closed'));
    const emptied = new Promise<void>((resolve) => (this.#whenEmpty = resolve));
    this.discardIdle();
    this.#noticeEmpty();
    await emptied;
  }

  #mayOpen(): boolean {
    return !this.#circuit.open && this.#openedMs.size + this.#opening < this.#bounds.size;
  }

  #openForWaiters(): void {
    if (this.#queue.length > this.#opening && this.#mayOpen()) void this.#openOne();
  }

  async #openOne(): Promise<void> {
    this.#opening += 1;
    const opened = await this.#options.open().then(
      (resource) => ({ resource }),
      (error: Error) => ({ error }),
    );
    this.#opening -= 1;
    if ('resource' in opened) this.#opened(opened.resource);
    else if (!this.#closed) this.#notOpened(opened.error);
    this.#noticeEmpty();
  }

  #opened(resource: T): void {
    this.#circuit.succeeded();
    if (this.#isUnreachable) this.#options.unreachable?.(undefined);
    this.#isUnreachable = false;
    this.#openedMs.set(resource, Date.now());
    this.#hand(resource);
  }

  #notOpened(error: Error): void {
    this.#circuit.failed(error);
    if (!this.#isUnreachable && (this.#circuit.open || this.#openedMs.size === 0)) {
      this.#isUnreachable = true;
      this.#options.unreachable?.(error);
    }
    // As long as there are other resources, they serve the waiters.
    if (this.#openedMs.size > 0) return;
    const refused = this.#circuit.open ? this.#queue.length : 1;
    for (let i = 0; i < refused; i += 1) this.#queue.take()?.refuse(new PoolRefusal('unreachable', error));
    this.#openForWaiters();
  }

  #hand(resource: T): void {
    if (this.#closed) return this.discard(resource);
    const waiter = this.#queue.take();
    if (waiter) return waiter.give(resource);
    this.#idle.push(resource);
    this.#awaitAge(resource);
  }

  /** Closes an idle resource when it reaches its age, not only when it is next used. */
  #awaitAge(resource: T): void {
    const agedMs = (this.#openedMs.get(resource) ?? 0) + this.#bounds.maxAgeMs + 1;
    if (agedMs >= this.#agedMs) return;
    clearTimeout(this.#agingTimer);
    this.#agedMs = agedMs;
    this.#agingTimer = setTimeout(() => this.#discardAged(), agedMs - Date.now()).unref();
  }

  /** Closes the idle resources that are too old, and waits for the next one. */
  #discardAged(): void {
    this.#agedMs = Infinity;
    for (const resource of this.#idle.slice()) {
      if (this.isAged(resource)) this.discard(resource);
      else this.#awaitAge(resource);
    }
  }

  async #end(resource: T): Promise<void> {
    try {
      await this.#options.close(resource);
    } catch {
      // The resource is gone in any case.
    }
    this.#noticeEmpty();
  }

  #noticeEmpty(): void {
    if (this.#openedMs.size === 0 && this.#opening === 0) this.#whenEmpty?.();
  }
}
