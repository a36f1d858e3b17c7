import type { Session } from './session/index.ts';

/** A client that reads nothing for this long may lose its session to a waiting request. */
const LONGEST_STALL_MS = 1_000;
const CHECK_MS = 250;

/**
 * The sessions in use. While requests wait for one, the client that stalls longest loses its session: otherwise a few slow
 * clients could block all others.
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

  /** Starts checking, until no request waits any more. */
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
    slowest?.drop('the client does not read its response, and others wait for a connection');
  }
}
