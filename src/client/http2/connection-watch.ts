/** A connection that is checked regularly. */
interface WatchedConnection {
  look(nowMs: number): void;
}

/** Checks HTTP/2 connections regularly for conditions that Node.js does not report. */
export class ConnectionWatch {
  readonly #connections = new Set<WatchedConnection>();
  readonly #periodMs: number;
  #timer: NodeJS.Timeout | undefined = undefined;

  constructor(periodMs: number) {
    this.#periodMs = periodMs;
  }

  add(connection: WatchedConnection): void {
    this.#connections.add(connection);
    this.#timer ??= setInterval(this.#look, this.#periodMs).unref();
  }

  delete(connection: WatchedConnection): void {
    this.#connections.delete(connection);
    if (this.#connections.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  readonly #look = (): void => {
    const nowMs = Date.now();
    for (const connection of this.#connections) connection.look(nowMs);
  };
}
