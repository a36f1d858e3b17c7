/** Longest silence of a peer. One timer serves all waits of a connection: starting and ending one only moves a deadline. */
export class Silence {
  private readonly broken: () => void;
  private deadlineMs = Infinity;
  private timer: NodeJS.Timeout | undefined = undefined;
  private firesAtMs = Infinity;

  /** `broken` hears of a silence that was too long. */
  constructor(broken: () => void) {
    this.broken = broken;
  }

  /** Something came or went: from now on the peer has so long. */
  expect(ms: number): void {
    this.deadlineMs = performance.now() + ms;
    if (this.deadlineMs < this.firesAtMs) this.arm(ms);
  }

  /** Nobody waits. */
  rest(): void {
    this.deadlineMs = Infinity;
  }

  /** For good. */
  stop(): void {
    this.deadlineMs = this.firesAtMs = Infinity;
    clearTimeout(this.timer);
  }

  private arm(ms: number): void {
    clearTimeout(this.timer);
    this.firesAtMs = performance.now() + ms;
    this.timer = setTimeout(this.fire, ms);
  }

  private readonly fire = (): void => {
    this.firesAtMs = Infinity;
    if (this.deadlineMs === Infinity) return;
    const leftMs = this.deadlineMs - performance.now();
    if (leftMs > 0) return this.arm(Math.ceil(leftMs));
    this.deadlineMs = Infinity;
    this.broken();
  };
}
