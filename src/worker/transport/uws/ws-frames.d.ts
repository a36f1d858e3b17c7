import type { Duplex, Writable } from 'node:stream';

/** The frame reader and writer of `ws`, which its type definitions omit. */
declare module 'ws' {
  /** Reads frames. Emits `message` (data, isBinary), `ping`, `pong` (data) and `conclude` (code, reason). */
  export class Receiver extends Writable {
    constructor(options: {
      readonly isServer: boolean;
      readonly maxPayload: number;
      readonly skipUTF8Validation: boolean;
    });
  }

  /** Writes frames. */
  export class Sender {
    constructor(socket: Duplex, extensions: Readonly<Record<string, never>>);
    send(
      data: Buffer,
      options: {
        readonly binary: boolean;
        readonly mask: boolean;
        readonly fin: boolean;
        readonly compress: boolean;
      },
    ): void;
    ping(data: Buffer, mask: boolean): void;
    pong(data: Buffer, mask: boolean): void;
    close(...frame: [code: number | undefined, reason: Buffer, mask: boolean, done: () => void]): void;
  }
}
