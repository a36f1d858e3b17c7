import type { Session } from './session/index.ts';

/** Who takes nothing of an answer for so long holds up others. */
const LONGEST_STALL_MS = 1_000;
const CHECK_MS = 250;

/**
 * Sessions in use. While somebody waits for one, a client that does not take the answer it has asked for loses its own: else
 * a handful of slow clients would keep all others from the database.
 */
export class SlowClients {
  readonly #inUse = new Set<Session>();
  readonly #isAnybodyWaiting: () => boolean;
  #timer: NodeJS.Timeout | undefined;

  constructor(isAnybodyWaiting: () => boolean) {
    this.#isAnybodyWaiting = isAnybodyWaiting;
  }

  begin(session: Session): void {
    this.#inUse.add(session);
  }

  end(session: Session): void {
    this.#inUse.delete(session);
  }

  /** From now on, until nobody waits any more. */
  watch(): void {
    if (this.#timer || !this.#isAnybodyWaiting()) return;
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    if (!this.#isAnybodyWaiting()) return this.close();
    let slowest: Session | undefined;
    for (const session of this.#inUse) {
      if (session.stalledMs > (slowest?.stalledMs ?? LONGEST_STALL_MS)) slowest = session;
    }
    slowest?.drop('the client does not take its answer, and others wait');
  }
}
