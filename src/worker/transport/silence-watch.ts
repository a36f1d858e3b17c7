/** A body that is still coming. */
export interface Slow {
  /** Starts its timer if it still waits. */
  watchSilence(): void;
}

/**
 * Starts the timers of bodies at the end of the event loop's turn: by then most bodies have come whole, for they travel in
 * the packet of their head, and need none.
 */
export class SilenceWatch {
  private waiting: Slow[] = [];

  add(body: Slow): void {
    if (this.waiting.push(body) === 1) setImmediate(this.arm);
  }

  private readonly arm = (): void => {
    const { waiting } = this;
    this.waiting = [];
    for (const body of waiting) body.watchSilence();
  };
}
