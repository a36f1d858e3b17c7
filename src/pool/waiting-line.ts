import { PoolRefusal } from './refusal.ts';

/** Someone who waits for a resource; first come, first served. */
export interface Waiter<T> {
  readonly give: (resource: T) => void;
  readonly refuse: (error: Error) => void;
  /** True once nobody needs the resource any more: the waiter is dropped instead of served. */
  readonly abandoned: (() => boolean) | undefined;
}

/** Waiters in order of arrival, each with its own time limit. */
export class WaitingLine<T> {
  readonly #timers = new Map<Waiter<T>, NodeJS.Timeout>();

  get length(): number {
    return this.#timers.size;
  }

  /** `late` runs after `waitMs` unless the waiter was taken before. */
  add(waiter: Waiter<T>, waitMs: number, late: () => void): void {
    const expire = (): void => {
      if (this.#timers.delete(waiter)) late();
    };
    this.#timers.set(waiter, setTimeout(expire, waitMs));
  }

  /** The first waiter that still wants to be served. */
  take(): Waiter<T> | undefined {
    for (const waiter of this.#timers.keys()) {
      this.#remove(waiter);
      if (!waiter.abandoned?.()) return waiter;
      waiter.refuse(new PoolRefusal('abandoned'));
    }
    return undefined;
  }

  /** Makes room: whoever went away stops counting. */
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
