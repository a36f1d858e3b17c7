import { type Failing, guarded } from '../guarded.ts';

/** A connection that is looked at from time to time. */
interface WatchedConnection extends Failing {
  look(nowMs: number): void;
}

const PERIOD_MS = 1_000;

/** Looks at each HTTP/2 connection once per second, for what Node.js tells nobody. */
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
