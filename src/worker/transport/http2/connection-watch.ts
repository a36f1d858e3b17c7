import { type Failing, guarded } from '../transport.ts';

/** A connection that is checked regularly. */
interface WatchedConnection extends Failing {
  look(nowMs: number): void;
}

const PERIOD_MS = 1_000;

/** Checks each HTTP/2 connection once per second for conditions that Node.js does not report. */
export class ConnectionWatch {
  readonly #connections = new Set<WatchedConnection>();
  #timer: NodeJS.Timeout | undefined = undefined;

  add(connection: WatchedConnection): void {
    this.#connections.add(connection);
    this.#timer ??= setInterval(this.#look, PERIOD_MS).unref();
  }

  delete(connection: WatchedConnection): void {
    this.#connections.delete(connection);
    if (this.#connections.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  readonly #look = (): void => {
    const nowMs = Date.now();
    for (const connection of this.#connections) guarded(connection, () => connection.look(nowMs))();
  };
}
