import type { AcmeFault } from '../protocol/index.ts';
import type { IssuerState } from './issuer-state.ts';
import { type OrderPause, isPauseOn, pauseAfter } from './schedule.ts';

interface OrderPausesParts {
  readonly state: IssuerState;
  /** The URL of its directory. */
  readonly authority: string;
}

/**
 * Until when an authority that was asked for too much is asked for nothing new, so that certificates do not run into its
 * limit one after the other. Kept across restarts.
 */
export class OrderPauses {
  readonly #parts: OrderPausesParts;
  #pause: OrderPause | undefined;

  constructor(parts: OrderPausesParts) {
    this.#parts = parts;
  }

  async restore(): Promise<void> {
    this.#pause = await this.#parts.state.pause(this.#parts.authority);
  }

  /** The pause that is on. */
  at(nowMs: number): OrderPause | undefined {
    return this.#pause && isPauseOn(this.#pause, nowMs) ? this.#pause : undefined;
  }

  /** After a pause, one order at a time is tried until the authority takes one. */
  most(usual: number): number {
    return this.#pause ? 1 : usual;
  }

  /** Begins a pause, or makes it longer. `concerns`: what the authority refuses. */
  async begin(
    { message, retryAfterMs }: AcmeFault,
    concerns: 'an order' | 'the account',
  ): Promise<OrderPause> {
    const nowMs = Date.now();
    const { authority, state } = this.#parts;
    // Orders that were under way run into the limit together: that is one refusal.
    const before = this.at(nowMs) ? (this.#pause?.count ?? 1) - 1 : (this.#pause?.count ?? 0);
    const fault = { fault: message, waitMs: retryAfterMs, concerns };
    this.#pause = pauseAfter({ authority, count: before }, fault, nowMs);
    await state.savePause(this.#pause);
    return this.#pause;
  }

  /** The authority has taken an order. */
  async end(): Promise<void> {
    if (!this.#pause) return;
    this.#pause = undefined;
    await this.#parts.state.endPause();
  }
}
