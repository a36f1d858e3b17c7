/** A connection that may receive much and carry little. */
export interface WatchedConnection {
  /** Bytes received so far, and how many of all bytes were part of requests or responses. */
  readonly traffic: { readonly receivedBytes: number; readonly payloadBytes: number };
  /** Closes the connection because of what its client sends. */
  refuse(complaint: string): void;
}

const PERIOD_MS = 1_000;
/** Bytes that a client may send without use. */
const SPARE_BYTES = 1_048_576;

/**
 * Closes HTTP/2 connections whose clients send frames without use: pings, settings, window updates, headers of streams that
 * are refused. As in nginx (ngx_http_v2_module: "http2 flood detected") no more than seven eighths of what is received
 * may be such frames, beyond the first megabyte.
 */
export class FloodWatch {
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
    for (const connection of this.#connections) {
      const { receivedBytes, payloadBytes } = connection.traffic;
      if (receivedBytes / 8 > payloadBytes + SPARE_BYTES) connection.refuse('http2 flood detected');
    }
  };
}
