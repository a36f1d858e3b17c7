import type { OnReadOpts, Socket } from 'node:net';

/** Bytes that are read from a connection at a time. */
const READ_BYTES = 65_536;

/** Creates the buffer into which all connections of one worker are read: its bytes are copied before the next read. */
export function readBuffer(): Buffer {
  return Buffer.allocUnsafeSlow(READ_BYTES);
}

/**
 * Receives the bytes of a socket. Without it, Node allocates 64 KB for each read, cuts them to the bytes received, and
 * passes these through the buffer of a stream.
 */
export class Inlet {
  readonly onread: OnReadOpts;
  #receive: (bytes: Buffer) => boolean = () => true;

  constructor(buffer: Buffer) {
    this.onread = {
      buffer,
      callback: (lengthBytes) => {
        const bytes = Buffer.allocUnsafe(lengthBytes);
        buffer.copy(bytes, 0, 0, lengthBytes);
        return this.#receive(bytes);
      },
    };
  }

  /** From now on, `receive` is called with the bytes that arrive. */
  open(receive: (bytes: Buffer) => void): void {
    this.#receive = (bytes) => {
      receive(bytes);
      return true;
    };
  }

  /** From now on, bytes are read from the socket as from any stream. */
  passTo(socket: Socket): void {
    this.#receive = (bytes) => socket.push(bytes);
  }
}

/** The timeout of a silent peer. One timer serves all waits of a connection: starting or ending one moves a deadline. */
export class SilenceTimer {
  readonly #broken: () => void;
  #deadlineMs = Infinity;
  #timer: NodeJS.Timeout | undefined = undefined;
  #firesAtMs = Infinity;

  /** `broken` is called when the peer was silent for too long. */
  constructor(broken: () => void) {
    this.#broken = broken;
  }

  /** Starts a wait of this many milliseconds; ends the previous one. */
  expect(ms: number): void {
    this.#deadlineMs = performance.now() + ms;
    if (this.#deadlineMs < this.#firesAtMs) this.#arm(ms);
  }

  /** Ends the wait. */
  rest(): void {
    this.#deadlineMs = Infinity;
  }

  /** Stops the timer for good. */
  stop(): void {
    this.#deadlineMs = this.#firesAtMs = Infinity;
    clearTimeout(this.#timer);
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer);
    this.#firesAtMs = performance.now() + ms;
    this.#timer = setTimeout(this.#fire, ms);
  }

  readonly #fire = (): void => {
    this.#firesAtMs = Infinity;
    if (this.#deadlineMs === Infinity) return;
    const leftMs = this.#deadlineMs - performance.now();
    if (leftMs > 0) return this.#arm(Math.ceil(leftMs));
    this.#deadlineMs = Infinity;
    this.#broken();
  };
}
