/**
 * Shows the master that a worker makes progress: a number in shared memory that only this thread raises. A timer beats, and so
 * does each request: what comes at once is taken in one turn of the event loop, and may keep timers waiting for seconds.
 */
export class Heartbeat {
  private readonly cells: Int32Array;
  private readonly at: number;

  constructor(buffer: SharedArrayBuffer, at: number) {
    this.cells = new Int32Array(buffer);
    this.at = at;
  }

  beat(): void {
    (this.cells[this.at] as number) += 1;
  }
}
