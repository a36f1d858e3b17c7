import type { ClientHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';

/** The handle of a socket, which Node's types do not have; `writeQueueSize` is what the system has not taken yet. */
interface SocketWithHandle extends Socket {
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}

/** Node.js ends a session of which ten settings are not acknowledged. */
const MOST_UNACKNOWLEDGED = 5;

/**
 * Finds sessions that have ended without a word. After a frame that nghttp2 cannot read (a head that cannot be
 * decompressed, say) it sends a GOAWAY and then neither reads nor writes, and Node.js reports nothing. So whenever bytes
 * have come and no more follow, empty SETTINGS are sent: a session that does not send them is over. Pings would tell the
 * same, but servers of gRPC end connections that ping often.
 */
export class UnreadableBytes {
  readonly #session: ClientHttp2Session;
  readonly #socket: SocketWithHandle;
  #readBytes = 0;
  #checkedBytes = 0;
  #unacknowledged = 0;

  constructor(session: ClientHttp2Session, socket: Socket) {
    this.#session = session;
    this.#socket = socket;
  }

  /** Must be called regularly, after the session has connected. Calls `over` if the session has ended. */
  look(over: () => void): void {
    const { bytesRead } = this.#socket;
    const isQuiet = bytesRead === this.#readBytes;
    this.#readBytes = bytesRead;
    if (!isQuiet || bytesRead === this.#checkedBytes || this.#unacknowledged >= MOST_UNACKNOWLEDGED) return;
    if (this.#isHeldBack) return;
    this.#checkedBytes = bytesRead;
    const { bytesWritten } = this.#socket;
    this.#unacknowledged++;
    this.#session.settings({}, this.#acknowledged);
    // Node.js sends frames in the next turn.
    setImmediate(() =>
      setImmediate(() => {
        const isSent = this.#socket.bytesWritten > bytesWritten;
        if (!isSent && !this.#isHeldBack && !this.#session.destroyed) over();
      }),
    );
  }

  /** True if earlier bytes still wait for a peer that does not read. */
  get #isHeldBack(): boolean {
    return this.#socket._handle?.writeQueueSize !== 0;
  }

  /** The bytes of the acknowledgement need no check of their own. */
  readonly #acknowledged = (): void => {
    this.#unacknowledged--;
    this.#checkedBytes = this.#readBytes = this.#socket.bytesRead;
  };
}
