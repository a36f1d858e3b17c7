/** A connection that is looked at regularly. */
interface WatchedConnection {
  look(): void;
}

const PERIOD_MS = 250;

/** Looks at each connection four times per second. */
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
    for (const connection of this.#connections) connection.look();
  };
}
