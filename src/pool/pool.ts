import { Circuit } from './circuit.ts';
import { PoolRefusal } from './refusal.ts';
import { WaitingLine } from './waiting-line.ts';

/** How a pool gets and ends its resources. */
export interface PoolOptions<T> {
  open(): Promise<T>;
  close(resource: T): void | Promise<void>;
  readonly size: number;
  /** A resource older than this is closed when it comes back. */
  readonly maxAgeMs: number;
  /** Told when the peer becomes unreachable (`error`: the last attempt's), and when it is back (`undefined`). */
  unreachable?(error: Error | undefined): void;
}

/** What one caller accepts: how long to wait in line, and behind how many others. */
export interface AcquireRules {
  readonly waitMs: number;
  readonly queueLimit: number;
  readonly abandoned?: () => boolean;
}

/** How full a pool is. */
export interface PoolLevel {
  readonly max: number;
  /** Idle, or still to be opened. */
  readonly available: number;
  readonly waiting: number;
}

/**
 * Acquire, use, release: at most `size` resources, opened on demand, the most recently used first, with a bounded line of
 * waiters. While the peer cannot be reached callers are refused at once and a single prober tries to open.
 */
export class Pool<T extends object> {
  readonly #options: PoolOptions<T>;
  readonly #idle: T[] = [];
  /** Every living resource, idle or in use, and when it was opened. */
  readonly #openedMs = new Map<T, number>();
  readonly #line = new WaitingLine<T>();
  readonly #circuit = new Circuit(() => void this.#openOne());
  #size: number;
  #opening = 0;
  #closed = false;
  #whenEmpty: (() => void) | undefined;

  constructor(options: PoolOptions<T>) {
    this.#options = options;
    this.#size = options.size;
  }

  get level(): PoolLevel {
    const used = this.#openedMs.size - this.#idle.length + this.#opening;
    return { max: this.#size, available: Math.max(0, this.#size - used), waiting: this.#line.length };
  }

  /** Gives a resource or rejects with a `PoolRefusal`. Each acquired resource comes back by `release`, once. */
  acquire(rules: AcquireRules): Promise<T> {
    if (this.#closed) return Promise.reject(new PoolRefusal('closed'));
    const idle = this.#idle.pop();
    if (idle) return Promise.resolve(idle);
    if (this.#circuit.open && this.#openedMs.size === 0) {
      return Promise.reject(new PoolRefusal('unreachable', this.#circuit.lastError));
    }
    if (this.#line.length >= rules.queueLimit + this.#opening) this.#line.dropAbandoned();
    const mayOpen = this.#mayOpen();
    if (!mayOpen && this.#line.length >= rules.queueLimit + this.#opening) {
      return Promise.reject(new PoolRefusal('full'));
    }
    return new Promise<T>((give, refuse) => {
      this.#line.add({ give, refuse, abandoned: rules.abandoned }, rules.waitMs, () =>
        refuse(new PoolRefusal('late')),
      );
      if (mayOpen) void this.#openOne();
    });
  }

  /** `broken`: the resource is not used again. */
  release(resource: T, broken = false): void {
    const openedMs = this.#openedMs.get(resource);
    if (openedMs === undefined) return;
    const surplus = this.#openedMs.size > this.#size || Date.now() - openedMs > this.#options.maxAgeMs;
    if (broken || this.#closed || surplus) return this.discard(resource);
    this.#hand(resource);
  }

  /** Ends a resource that died, whether idle or in use; the next waiter gets a new one. */
  discard(resource: T): void {
    if (!this.#openedMs.delete(resource)) return;
    const position = this.#idle.indexOf(resource);
    if (position >= 0) this.#idle.splice(position, 1);
    void this.#end(resource);
    this.#openForWaiters();
  }

  /** Ends what nobody uses, because the peer has ended others: what is used next is new, or has just been of use. */
  discardIdle(): void {
    for (const resource of this.#idle.slice()) this.discard(resource);
  }

  /** Takes effect as resources come back. */
  resize(size: number): void {
    this.#size = size;
  }

  /** Refuses whoever waits, and resolves once every resource has come back and is closed. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#circuit.stop();
    for (let waiter = this.#line.take(); waiter; waiter = this.#line.take())
      waiter.refuse(new PoolRefusal('closed'));
    const emptied = new Promise<void>((resolve) => (this.#whenEmpty = resolve));
    this.discardIdle();
    this.#noticeEmpty();
    await emptied;
  }

  #mayOpen(): boolean {
    return !this.#circuit.open && this.#openedMs.size + this.#opening < this.#size;
  }

  #openForWaiters(): void {
    if (this.#line.length > this.#opening && this.#mayOpen()) void this.#openOne();
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
    const wasOpen = this.#circuit.open;
    this.#circuit.succeeded();
    if (wasOpen) this.#options.unreachable?.(undefined);
    this.#openedMs.set(resource, Date.now());
    this.#hand(resource);
  }

  #notOpened(error: Error): void {
    const wasOpen = this.#circuit.open;
    this.#circuit.failed(error);
    if (this.#circuit.open && !wasOpen) this.#options.unreachable?.(error);
    // As long as others live, whoever waits is served by them.
    if (this.#openedMs.size > 0) return;
    const refused = this.#circuit.open ? this.#line.length : 1;
    for (let i = 0; i < refused; i += 1) this.#line.take()?.refuse(new PoolRefusal('unreachable', error));
    this.#openForWaiters();
  }

  #hand(resource: T): void {
    if (this.#closed) return this.discard(resource);
    const waiter = this.#line.take();
    if (waiter) waiter.give(resource);
    else this.#idle.push(resource);
  }

  async #end(resource: T): Promise<void> {
    try {
      await this.#options.close(resource);
    } catch {
      // It is gone either way; the peer's complaint about a closing connection helps nobody.
    }
    this.#noticeEmpty();
  }

  #noticeEmpty(): void {
    if (this.#openedMs.size === 0 && this.#opening === 0) this.#whenEmpty?.();
  }
}
