import type { ServerAddress } from '../group.ts';

/** What a server's name leads to, and when to ask again (`undefined`: never). */
export interface Found {
  readonly addresses: readonly ServerAddress[];
  readonly againMs: number | undefined;
  /** Why there are none. */
  readonly fault?: Error;
}

/** What to ask and what to do with the answers. */
export interface Watching {
  /** Rejects when nothing was learnt: what was known goes on. */
  readonly ask: () => Promise<Found>;
  readonly found: (addresses: readonly ServerAddress[]) => void;
  /** Told once, until addresses are found again. */
  readonly failed: (error: Error) => void;
}

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;
const MIN_MS = 1000;
/** A timer takes no more than 2^31 - 1. */
const MAX_MS = 86_400_000;

/** Asks for the addresses of one server until it is told to stop: again when they are out of date, or when nobody answered. */
export class AddressWatch {
  readonly #watching: Watching;
  #timer: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  #isTold = false;
  #isClosed = false;

  constructor(watching: Watching) {
    this.#watching = watching;
  }

  /** Resolves when the first answer is there, or did not come. Never fails. */
  async ask(): Promise<void> {
    try {
      const { addresses, againMs, fault } = await this.#watching.ask();
      if (this.#isClosed) return;
      this.#retryMs = FIRST_RETRY_MS;
      this.#watching.found(addresses);
      this.#tell(fault);
      if (againMs !== undefined) this.#later(againMs);
    } catch (error) {
      if (this.#isClosed) return;
      this.#tell(error as Error);
      this.#later(this.#retryMs);
      this.#retryMs = Math.min(2 * this.#retryMs, LAST_RETRY_MS);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #tell(fault: Error | undefined): void {
    if (fault && !this.#isTold) this.#watching.failed(fault);
    this.#isTold = fault !== undefined;
  }

  #later(ms: number): void {
    this.#timer = setTimeout(() => void this.ask(), Math.min(MAX_MS, Math.max(MIN_MS, ms)));
    this.#timer.unref();
  }
}
