import type { OnReadOpts, Socket } from 'node:net';

/** Bytes that are read from a connection at a time. */
const READ_BYTES = 65_536;

/** Makes the buffer that all connections of one worker are read into: what is received is copied before the next read. */
export function readBuffer(): Buffer {
  return Buffer.allocUnsafeSlow(READ_BYTES);
}

/**
 * Takes what a socket receives. Without it, Node allocates 64 KB for each read, cuts them to what was received, and passes that
 * through the buffer of a stream.
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

  /** From now on, `receive` is called with what arrives. */
  open(receive: (bytes: Buffer) => void): void {
    this.#receive = (bytes) => {
      receive(bytes);
      return true;
    };
  }

  /** From now on, what arrives is read from the socket as from any stream. */
  passTo(socket: Socket): void {
    this.#receive = (bytes) => socket.push(bytes);
  }
}
