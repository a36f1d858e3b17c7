import type { HttpResponse } from 'uWebSockets.js';
import type { ErrorLog } from '../../../log/index.ts';
import type { Connections } from '../../../zone/index.ts';
import { type Failing, guarded } from '../guarded.ts';
import { printedAddress } from '../socket-address.ts';
import type { UwsPort } from './uws-wire.ts';

/** uWebSockets.js closes a connection without a request after 10 seconds; its clock ticks every 4. */
const ENGINE_LIMIT_MS = 8_000;

const MESSAGES = {
  closed:
    'client connection ended before a request: the client left, or uWebSockets.js refused it with 400, 431 or 505',
  timeout: 'client timed out (110: Connection timed out) while waiting for request',
} as const;
const TOLD_ONCE =
  'a client connection ended before a request: uWebSockets.js does not tell what it refuses by itself; "error_log ... info" has the addresses, "http_engine node" reads and logs such requests';

/**
 * Counts and logs connections that ended before their first request. They include requests that uWebSockets.js has
 * refused by itself: it reports neither the refusal nor the bytes.
 */
export class SilentEnds implements Failing {
  readonly #log: ErrorLog;
  readonly #connections: Connections;

  constructor(log: ErrorLog, connections: Connections) {
    this.#log = log;
    this.#connections = connections;
  }

  fail(error: unknown): void {
    this.#log.write('error', `the end of a connection could not be counted: ${String(error)}`);
  }

  /**
   * Watches a new connection. Its first request replaces the function for the end of the connection, so this one is
   * called only if there was no request.
   */
  watch(res: HttpResponse, { port, socket }: Pick<UwsPort, 'port' | 'socket'>): void {
    const client = printedAddress(res.getRemoteAddress());
    const openedMs = performance.now();
    const ended = (): void => {
      if (socket.closed) return;
      const end = performance.now() - openedMs < ENGINE_LIMIT_MS ? 'closed' : 'timeout';
      this.#log.write('info', MESSAGES[end], { client, server: port.serverName });
      if (this.#connections.endedUnread(end) && end === 'closed') this.#log.write('warn', TOLD_ONCE);
    };
    res.onAborted(guarded(this, ended));
  }
}
