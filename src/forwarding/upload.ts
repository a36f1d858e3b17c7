import type { Carrier } from '../client/index.ts';
import type { Exchange } from '../http/index.ts';
import { keepBody, type SpooledBody } from '../bodies/index.ts';

/** The sender of the request that a body belongs to. */
interface Sender {
  /** Called if the body could not be read. */
  fault(error: Error): void;
  /** Called if the rest of the body will not come: the client has been refused, or has closed the connection. */
  bodyLost(): void;
}

/** The body of a request on its way to a peer: either complete, or passed on while the client sends it. */
export interface Upload {
  /** Size in bytes; -1: unknown. */
  readonly bodyBytes: number;
  /** The whole body, if it is small; `undefined` if `begin` writes it. */
  readonly bytes: Uint8Array | undefined;
  /** True if the body was passed on while it was received, so that it cannot be sent to another peer. */
  readonly isSpent: boolean;
  /** True if sent bytes are kept, so that another peer can get them if the first did not process the request. */
  readonly isKept: boolean;
  begin(connection: Carrier, sender: Sender): void;
  /** Called when the connection can take more. */
  drained(): void;
  /** Called when a response has begun, so that the body will not be sent again. */
  forget(): void;
}

/** A larger body is sent in pieces, so that the timeout between writes applies and an early response is noticed. */
const PIECE_BYTES = 262_144;

/** A body in memory, which can be sent again. */
export class WholeUpload implements Upload {
  readonly bodyBytes: number;
  readonly bytes: Uint8Array | undefined;
  readonly isSpent = false;
  readonly isKept = true;
  readonly #all: Buffer;
  #at = 0;
  #connection: Carrier | undefined = undefined;

  constructor(all: Buffer) {
    this.#all = all;
    this.bodyBytes = all.length;
    this.bytes = all.length <= PIECE_BYTES ? all : undefined;
  }

  begin(connection: Carrier): void {
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
    while (isTaken && this.#at + PIECE_BYTES < all.length) {
      isTaken = connection.write(all.subarray(this.#at, this.#at + PIECE_BYTES));
      this.#at += PIECE_BYTES;
    }
    if (!isTaken) return;
    this.#connection = undefined;
    connection.finish(all.subarray(this.#at));
  }

  forget(): void {}
}

/** Bytes of a passed body that are kept for another peer. */
const KEPT_BYTES = 65_536;

/** A body that is passed on while it is received (`proxy_request_buffering off`). */
export class PassingUpload implements Upload {
  readonly bytes = undefined;
  readonly bodyBytes: number;
  isSpent = false;
  readonly #x: Exchange;
  /** All received bytes; `undefined` if they were too many, or are no longer needed. */
  #kept: Buffer[] | undefined = [];
  #keptBytes = 0;
  /** All received bytes, for `$request_body`; `undefined` if they were too many, or the variable is not used. */
  #remembered: Buffer[] | undefined;
  #receivedBytes = 0;
  readonly #rememberedBytes: number;
  #connection: Carrier | undefined = undefined;
  #isWhole = false;
  /** The bytes that have arrived in this turn of the event loop. */
  #gathered: Buffer[] = [];
  #due: NodeJS.Immediate | undefined = undefined;
  /** True while no piece is read from the client, because the peer is slow or there is none at the moment. */
  #isHeld = false;
  #taken: (() => void) | undefined = undefined;

  /** `rememberedBytes`: the largest body that stays available to variables. */
  constructor(x: Exchange, rememberedBytes: number) {
    this.#x = x;
    this.bodyBytes = x.request.contentLength;
    this.#rememberedBytes = rememberedBytes;
    this.#remembered = rememberedBytes > 0 ? [] : undefined;
  }

  get isKept(): boolean {
    return this.#kept !== undefined;
  }

  begin(connection: Carrier, sender: Sender): void {
    this.#connection = connection;
    if (this.isSpent) return this.#repeat(connection);
    this.isSpent = true;
    this.#x.onEnd(() => this.drained());
    this.#x
      .readPieces((piece) => this.#take(piece, sender))
      .then(
        (isWhole) => {
          this.#isWhole = isWhole;
          if (isWhole && this.#remembered) keepBody(this.#x, Buffer.concat(this.#remembered));
          return isWhole ? this.#passLast(sender) : sender.bodyLost();
        },
        (error: unknown) => sender.fault(error as Error),
      );
    this.#passSoon(sender);
  }

  #repeat(connection: Carrier): void {
    clearImmediate(this.#due);
    this.#due = undefined;
    this.#gathered = [];
    for (const piece of this.#kept ?? []) connection.write(piece);
    if (this.#isWhole) connection.finish();
    else connection.flush();
    this.drained();
  }

  #take(piece: Buffer, sender: Sender): void | Promise<void> {
    this.#keep(piece);
    this.#remember(piece);
    this.#gathered.push(piece);
    this.#passSoon(sender);
    return this.#isHeld ? new Promise((resolve) => (this.#taken = resolve)) : undefined;
  }

  /** Sends pieces that arrive in one turn of the event loop as one, with the end of the body if it has come. */
  #passSoon(sender: Sender): void {
    this.#due ??= setImmediate(() => this.#passNow(sender));
  }

  /** Sends the end of the body with what is due. The head of an HTTP/2 request then leaves with it, if it has not left yet. */
  #passLast(sender: Sender): void {
    clearImmediate(this.#due);
    this.#passNow(sender);
  }

  #passNow(sender: Sender): void {
    this.#due = undefined;
    try {
      this.#pass();
    } catch (error) {
      sender.fault(error as Error);
    }
  }

  #pass(): void {
    const [first, ...others] = this.#gathered;
    this.#gathered = [];
    const piece = first && others.length > 0 ? Buffer.concat([first, ...others]) : first;
    const connection = this.#connection;
    // Without a connection, another peer may be tried. `#repeat` then sends it this piece after the earlier ones.
    if (!connection?.isOpen) this.#isHeld = this.#kept !== undefined && !this.#x.done;
    else if (this.#isWhole) connection.finish(piece);
    else if (piece) this.#isHeld = !connection.write(piece);
    else connection.flush();
  }

  #remember(piece: Buffer): void {
    this.#receivedBytes += piece.length;
    if (this.#receivedBytes > this.#rememberedBytes) this.#remembered = undefined;
    else this.#remembered?.push(piece);
  }

  #keep(piece: Buffer): void {
    if (!this.#kept) return;
    this.#keptBytes += piece.length;
    if (this.#keptBytes > KEPT_BYTES && this.#connection?.isOpen) this.#kept = undefined;
    else this.#kept.push(piece);
  }

  drained(): void {
    this.#isHeld = false;
    this.#taken?.();
    this.#taken = undefined;
  }

  forget(): void {
    this.#kept = undefined;
    if (!this.#connection?.isOpen) this.drained();
  }
}

/** A body in a file. It is sent piece by piece at the peer's pace, and again from its start to the next peer. */
export class SpooledUpload implements Upload {
  readonly bytes = undefined;
  readonly isSpent = false;
  readonly isKept = true;
  readonly bodyBytes: number;
  readonly #body: SpooledBody;
  #connection: Carrier | undefined = undefined;
  #taken: (() => void) | undefined = undefined;

  constructor(body: SpooledBody) {
    this.#body = body;
    this.bodyBytes = body.length;
  }

  begin(connection: Carrier, sender: Sender): void {
    this.#connection = connection;
    // Wakes up the loop that wrote to the previous peer. The loop sees that it is obsolete and ends.
    this.drained();
    this.#send(connection).catch((error: unknown) => sender.fault(error as Error));
  }

  drained(): void {
    this.#taken?.();
    this.#taken = undefined;
  }

  forget(): void {}

  async #send(connection: Carrier): Promise<void> {
    let leftBytes = this.bodyBytes;
    for await (const piece of this.#body.pieces()) {
      if (!this.#isCurrent(connection)) return;
      leftBytes -= piece.length;
      if (leftBytes === 0) return connection.finish(piece);
      if (connection.write(piece)) continue;
      await new Promise<void>((resolve) => {
        this.#taken = resolve;
      });
    }
    if (this.#isCurrent(connection)) connection.finish();
  }

  #isCurrent(connection: Carrier): boolean {
    return this.#connection === connection && connection.isOpen;
  }
}
