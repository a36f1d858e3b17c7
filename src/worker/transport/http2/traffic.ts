/** Bytes of a connection so far. */
interface Traffic {
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Bytes that were part of requests and responses. */
  readonly payloadBytes: number;
}

/** Bytes of useless frames that a client may always send. */
const SPARE_BYTES = 1_048_576;

/**
 * Tells whether a client sends useless frames: pings, settings, window updates, headers of refused streams. As in nginx
 * (ngx_http_v2_module: "http2 flood detected"), after the first megabyte at most seven eighths of the received bytes
 * may be such frames.
 */
export function isFlood({ receivedBytes, payloadBytes }: Traffic): boolean {
  return receivedBytes / 8 > payloadBytes + SPARE_BYTES;
}

/**
 * Finds dead connections. After a broken frame, Node.js sends the client a GOAWAY, but then neither reads nor closes
 * the connection, and reports nothing. Only a ping without a response shows this.
 */
export class Silence {
  #movedBytes = 0;
  #sinceMs = Date.now();
  /** The number of received bytes when the ping was sent; -1 if none was sent. */
  #pingedAtBytes = -1;

  /** Requests a ping after `timeoutMs` without traffic. After another `timeoutMs`, reports the connection as dead. */
  verdict(
    { receivedBytes, sentBytes }: Traffic,
    nowMs: number,
    timeoutMs: number,
  ): 'alive' | 'ping' | 'dead' {
    if (this.#pingedAtBytes >= 0 && receivedBytes > this.#pingedAtBytes) this.#pingedAtBytes = -1;
    else if (this.#pingedAtBytes >= 0) return nowMs - this.#sinceMs > timeoutMs ? 'dead' : 'alive';
    const movedBytes = receivedBytes + sentBytes;
    const isQuiet = movedBytes === this.#movedBytes && nowMs - this.#sinceMs > timeoutMs;
    if (movedBytes === this.#movedBytes && !isQuiet) return 'alive';
    this.#movedBytes = movedBytes;
    this.#sinceMs = nowMs;
    if (!isQuiet) return 'alive';
    this.#pingedAtBytes = receivedBytes;
    return 'ping';
  }
}

/** The number of bytes that are read ahead for all streams of a connection together. */
const WAITING_BYTES = 1_048_576;
/**
 * Bytes that may be read for any stream, so that it need not wait for others that the client does not read: one frame
 * (RFC 9113, 4.2) until the client has taken one, then enough to make a read worthwhile.
 */
const LEAST_BYTES = { unread: 16_384, read: 65_536 };

/** Counts the bytes that wait for a client on all streams of its connection. */
export class WaitingBytes {
  #bytes = 0;

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Returns how many of `wantedBytes` may be read for a stream now. */
  room(wantedBytes: number, stream: 'read' | 'unread'): number {
    // At most half of what is left, so that later streams get their share.
    return Math.min(wantedBytes, Math.max((WAITING_BYTES - this.#bytes) >> 1, LEAST_BYTES[stream]));
  }
}
