import type { Duplex } from 'node:stream';
import { Receiver, Sender } from 'ws';
import { type Failing, guarded } from '../transport.ts';
import { type Client, MAX_MESSAGE_BYTES, type Relay } from './websocket-behavior.ts';

/**
 * Limits of the bytes that wait for slow upstreams, per connection and per port. A client's WebSocket cannot be paused.
 */
const MAX_WAITING_BYTES = 33_554_432;
const MAX_ALL_WAITING_BYTES = 67_108_864;
/** With fewer waiting bytes, the total is not checked. */
const UNNOTICED_BYTES = 65_536;
/** Close codes that a frame may carry (RFC 6455, 7.4). */
const NO_STATUS = 1005;
const NO_CLOSE_FRAME = 1006;
const GOING_AWAY = 1001;
const TOO_BIG = 1009;
const TRY_LATER = 1013;
const NOTHING = Buffer.alloc(0);

/** Receives the events of a relay. */
interface RelayOwner extends Failing {
  wrote(bytes: number): void;
  ended(): void;
}

/**
 * Relays a client's WebSocket on uWebSockets.js and an upstream connection that has switched to the same protocol:
 * messages, pings, pongs and close codes. uWebSockets.js passes frames, not bytes, so they are re-encoded for the
 * upstream.
 */
export class WebSocketRelay implements Relay {
  readonly #upstream: Duplex;
  readonly #owner: RelayOwner;
  readonly #receiver = new Receiver({
    isServer: false,
    maxPayload: MAX_MESSAGE_BYTES,
    skipUTF8Validation: true,
  });
  readonly #sender: Sender;
  #client: Client | undefined = undefined;
  #relays: Set<Relay> | undefined = undefined;
  #isOver = false;
  /** The client's buffer is full; the receiver has more data than it can process. */
  #isClientFull = false;
  #isReceiverFull = false;

  constructor(upstream: Duplex, owner: RelayOwner) {
    this.#upstream = upstream;
    this.#owner = owner;
    this.#sender = new Sender(upstream, {});
  }

  open(client: Client, relays: Set<Relay>): void {
    this.#client = client;
    this.#relays = relays.add(this);
    const upstream = this.#upstream;
    const receiver = this.#receiver;
    const hear = <Args extends unknown[]>(
      from: Duplex | Receiver,
      event: string,
      act: (...args: Args) => void,
    ) => from.on(event, guarded(this, act));
    hear(receiver, 'message', (data: Buffer, isBinary: boolean) => this.#toClient(data, isBinary));
    hear(receiver, 'ping', (data: Buffer) => this.#ping(data));
    hear(receiver, 'conclude', (code: number, reason: Buffer) => this.#closeClient(code, reason));
    hear(receiver, 'error', (error: Error) => this.#closeClient(errorCode(error), NOTHING));
    hear(receiver, 'drain', () => this.#flow({ isReceiverFull: false }));
    hear(upstream, 'data', (bytes: Buffer) => {
      if (!receiver.write(bytes)) this.#flow({ isReceiverFull: true });
    });
    // Without a close frame, the client's connection is closed without one, too.
    for (const event of ['end', 'close', 'error']) hear(upstream, event, () => this.#cutClient());
    upstream.resume();
  }

  fail(error: unknown): void {
    this.#owner.fail(error);
    this.#cutClient();
  }

  message(data: ArrayBuffer, isBinary: boolean): void {
    if (this.#isOver) return;
    // The memory belongs to uWebSockets.js.
    const copy = Buffer.from(new Uint8Array(data));
    this.#sender.send(copy, { binary: isBinary, mask: true, fin: true, compress: false });
    if (this.#waitsForTooMuch()) this.#closeClient(TRY_LATER, NOTHING);
  }

  /** Forwards a ping of the client. The upstream's pong is not forwarded, since uWebSockets.js has already sent one. */
  ping(data: ArrayBuffer): void {
    if (!this.#isOver) this.#sender.ping(Buffer.from(new Uint8Array(data)), true);
  }

  /** Forwards the client's pong to a ping of the upstream. */
  pong(data: ArrayBuffer): void {
    if (!this.#isOver) this.#sender.pong(Buffer.from(new Uint8Array(data)), true);
  }

  drained(): void {
    this.#flow({ isClientFull: false });
  }

  closed(code: number, reason: ArrayBuffer): void {
    this.#client = undefined;
    this.#relays?.delete(this);
    if (this.#isOver) return;
    this.#isOver = true;
    if (code !== NO_CLOSE_FRAME)
      this.#owner.wrote(frameBytes(code === NO_STATUS ? 0 : 2 + reason.byteLength));
    const upstream = this.#upstream;
    if (isSendable(code)) {
      this.#sender.close(
        code === NO_STATUS ? undefined : code,
        Buffer.from(new Uint8Array(reason)),
        true,
        () => upstream.end(),
      );
    } else upstream.destroy();
    this.#owner.ended();
  }

  goAway(): void {
    this.#client?.end(GOING_AWAY);
  }

  get waitingBytes(): number {
    return this.#upstream.writableLength;
  }

  #waitsForTooMuch(): boolean {
    const own = this.waitingBytes;
    if (own <= UNNOTICED_BYTES) return false;
    let all = 0;
    for (const relay of this.#relays ?? []) all += relay.waitingBytes;
    return own > MAX_WAITING_BYTES || all > MAX_ALL_WAITING_BYTES;
  }

  #toClient(data: Buffer, isBinary: boolean): void {
    if (!this.#client) return;
    this.#owner.wrote(frameBytes(data.length));
    // 0 means that the client's buffer is full.
    if (this.#client.send(data, isBinary) === 0) this.#flow({ isClientFull: true });
  }

  #ping(data: Buffer): void {
    if (!this.#client) return;
    this.#owner.wrote(frameBytes(data.length));
    this.#client.ping(data);
  }

  #flow({
    isClientFull = this.#isClientFull,
    isReceiverFull = this.#isReceiverFull,
  }: {
    readonly isClientFull?: boolean;
    readonly isReceiverFull?: boolean;
  }): void {
    this.#isClientFull = isClientFull;
    this.#isReceiverFull = isReceiverFull;
    if (this.#isClientFull || this.#isReceiverFull) this.#upstream.pause();
    else this.#upstream.resume();
  }

  /** Closes the client's WebSocket with a code. The close handler then closes the upstream's side. */
  #closeClient(code: number, reason: Buffer): void {
    if (code === NO_STATUS) this.#client?.end();
    else this.#client?.end(code, reason);
  }

  #cutClient(): void {
    this.#upstream.destroy();
    this.#client?.close();
  }
}

/** The size of a frame without a mask (RFC 6455, 5.2). */
function frameBytes(payloadBytes: number): number {
  return payloadBytes + (payloadBytes < 126 ? 2 : payloadBytes < 65_536 ? 4 : 10);
}

function isSendable(code: number): boolean {
  return (
    code === NO_STATUS ||
    (code >= 1000 && code <= 4999 && code !== 1004 && code !== NO_CLOSE_FRAME && code !== 1015)
  );
}

/** Returns the close code for an error of `ws`. */
function errorCode(error: Error & { readonly code?: string }): number {
  return error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' ? TOO_BIG : 1002;
}
