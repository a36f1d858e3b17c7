/** Bytes of a connection so far. */
interface Traffic {
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** How many of them were part of requests and responses. */
  readonly payloadBytes: number;
}

/** Bytes that a client may send without use. */
const SPARE_BYTES = 1_048_576;

/**
 * Tells whether a client sends frames without use: pings, settings, window updates, headers of streams that are refused. As in
 * nginx (ngx_http_v2_module: "http2 flood detected") no more than seven eighths of what is received may be such frames, beyond
 * the first megabyte.
 */
export function isFlood({ receivedBytes, payloadBytes }: Traffic): boolean {
  return receivedBytes / 8 > payloadBytes + SPARE_BYTES;
}

/**
 * Finds connections on which nothing moves. After a broken frame, Node.js tells the client so (GOAWAY) and neither reads nor
 * closes the connection any more, and does not say so either: only a ping without a response shows it.
 */
export class Silence {
  #movedBytes = 0;
  #sinceMs = Date.now();
  /** What was received when the ping was sent; -1: none was. */
  #pingedAtBytes = -1;

  /** After `timeoutMs` in which nothing moved, asks for a ping; after another, tells that the connection is dead. */
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

/** So much is read ahead for all streams of a connection together. */
const WAITING_BYTES = 1_048_576;
/**
 * So much is read for any stream, so that none waits for others that their client does not read: a frame (RFC 9113, 4.2) until the
 * client has taken one, then as much as is worth a read.
 */
const LEAST_BYTES = { unread: 16_384, read: 65_536 };

/** What has been read for a client and waits for it, on all streams of its connection. */
export class WaitingBytes {
  #bytes = 0;

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Tells how many of some bytes may be read now for a stream. */
  room(wantedBytes: number, stream: 'read' | 'unread'): number {
    // The half of what is left: later streams get their share, too.
    return Math.min(wantedBytes, Math.max((WAITING_BYTES - this.#bytes) >> 1, LEAST_BYTES[stream]));
  }
}
