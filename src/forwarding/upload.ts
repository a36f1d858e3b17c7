import type { Connection } from '../client/index.ts';
import type { Exchange } from '../http/index.ts';
import type { SpooledBody } from '../spool.ts';

/** The sender of the request that a body belongs to. */
interface Sender {
  /** The body could not be read. */
  fault(error: Error): void;
  /** The request has got a response already, or its client has gone. */
  withdraw(): void;
}

/** The body of a request on its way to a peer: either complete, or passed on while the client sends it. */
export interface Upload {
  /** Size in bytes; -1: not known. */
  readonly bodyBytes: number;
  /** The whole body, if it is small; `undefined`: `begin` writes it. */
  readonly bytes: Uint8Array | undefined;
  /** The body was passed on while it was received, so it cannot be sent to another peer. */
  readonly isSpent: boolean;
  begin(connection: Connection, sender: Sender): void;
  /** The connection can take more. */
  drained(): void;
}

/** A larger body is sent in pieces, so that the timeout between writes applies and an early response is noticed. */
const PIECE_BYTES = 262_144;

/** A body in memory, which can be sent again. */
export class WholeUpload implements Upload {
  readonly bodyBytes: number;
  readonly bytes: Uint8Array | undefined;
  readonly isSpent = false;
  readonly #all: Buffer;
  #at = 0;
  #connection: Connection | undefined = undefined;

  constructor(all: Buffer) {
    this.#all = all;
    this.bodyBytes = all.length;
    this.bytes = all.length <= PIECE_BYTES ? all : undefined;
  }

  begin(connection: Connection): void {
    if (this.bytes) return;
    this.#connection = connection;
    this.#at = 0;
    this.drained();
  }

  drained(): void {
    const connection = this.#connection;
    const all = this.#all;
    if (!connection) return;
    let isTaken = true;
    while (isTaken && this.#at < all.length) {
      isTaken = connection.write(all.subarray(this.#at, this.#at + PIECE_BYTES));
      this.#at += PIECE_BYTES;
    }
    if (this.#at < all.length) return;
    this.#connection = undefined;
    connection.finish();
  }
}

/** A body that is passed on while it is received (`proxy_request_buffering off`). */
export class PassingUpload implements Upload {
  readonly bytes = undefined;
  readonly bodyBytes: number;
  isSpent = false;
  readonly #x: Exchange;
  #taken: (() => void) | undefined = undefined;

  constructor(x: Exchange) {
    this.#x = x;
    this.bodyBytes = x.request.contentLength;
  }

  begin(connection: Connection, sender: Sender): void {
    this.isSpent = true;
    const receive = (piece: Buffer): void | Promise<void> => {
      if (!connection.isOpen) return undefined;
      return connection.write(piece) ? undefined : new Promise((resolve) => (this.#taken = resolve));
    };
    this.#x.readPieces(receive).then(
      (isWhole) => {
        if (!isWhole) return sender.withdraw();
        return connection.finish();
      },
      (error: unknown) => sender.fault(error as Error),
    );
    connection.flush();
  }

  drained(): void {
    this.#taken?.();
    this.#taken = undefined;
  }
}

/** A body in a file: sent piece by piece at the pace of the peer, and from its start again to the next peer. */
export class SpooledUpload implements Upload {
  readonly bytes = undefined;
  readonly isSpent = false;
  readonly bodyBytes: number;
  readonly #body: SpooledBody;
  #connection: Connection | undefined = undefined;
  #taken: (() => void) | undefined = undefined;

  constructor(body: SpooledBody) {
    this.#body = body;
    this.bodyBytes = body.length;
  }

  begin(connection: Connection, sender: Sender): void {
    this.#connection = connection;
    // Wakes up the loop that wrote to the previous peer: it sees that it is no longer current and ends.
    this.drained();
    this.#send(connection).catch((error: unknown) => sender.fault(error as Error));
  }

  drained(): void {
    this.#taken?.();
    this.#taken = undefined;
  }

  async #send(connection: Connection): Promise<void> {
    let leftBytes = this.bodyBytes;
    for await (const piece of this.#body.pieces()) {
      if (!this.#isCurrent(connection)) return;
      leftBytes -= piece.length;
      if (connection.write(piece) || leftBytes === 0) continue;
      await new Promise<void>((resolve) => {
        this.#taken = resolve;
      });
    }
    if (this.#isCurrent(connection)) connection.finish();
  }

  #isCurrent(connection: Connection): boolean {
    return this.#connection === connection && connection.isOpen;
  }
}
