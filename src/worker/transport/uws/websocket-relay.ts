import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketBehavior } from 'uWebSockets.js';
import { Receiver, Sender } from 'ws';
import { type Failing, guarded } from '../guarded.ts';

/** Largest message either side may send; beyond it the connection ends with 1009. */
const MAX_MESSAGE_BYTES = 16_777_216;
/** What may wait for a slow upstream, a client's WebSocket cannot be held back: for one, and for all of a port. */
const MAX_WAITING_BYTES = 33_554_432;
const MAX_ALL_WAITING_BYTES = 67_108_864;
/** So little is not worth a look at the others. */
const UNNOTICED_BYTES = 65_536;
/** Close codes that a frame may carry (RFC 6455, 7.4). */
const NO_STATUS = 1005;
const GOING_AWAY = 1001;
const TOO_BIG = 1009;
const TRY_LATER = 1013;
const NOTHING = Buffer.alloc(0);

/** Who hears of the end. */
interface RelayOwner extends Failing {
  wrote(bytes: number): void;
  ended(): void;
}

/** What uWebSockets.js keeps with a client; it copies the members, so a relay has to be one of them. */
export interface Relayed {
  readonly relay: WebSocketRelay;
}

type Client = WebSocket<Relayed>;

/**
 * A client's WebSocket on uWebSockets.js and an upstream's connection that has switched to the same protocol: messages, pings,
 * pongs and close codes go both ways. uWebSockets.js hands over frames, not bytes, so they are written anew for the upstream.
 */
export class WebSocketRelay implements Failing {
  private readonly upstream: Duplex;
  private readonly owner: RelayOwner;
  private readonly receiver = new Receiver({
    isServer: false,
    maxPayload: MAX_MESSAGE_BYTES,
    skipUTF8Validation: true,
  });
  private readonly sender: Sender;
  private client: Client | undefined = undefined;
  private relays: Set<WebSocketRelay> | undefined = undefined;
  private isOver = false;
  /** The client takes nothing for now; the receiver has more than it can read. */
  private isClientFull = false;
  private isReceiverFull = false;

  constructor(upstream: Duplex, owner: RelayOwner) {
    this.upstream = upstream;
    this.owner = owner;
    this.sender = new Sender(upstream, {});
  }

  /** The client is there: frames may go. While it is open it is one of `relays`. */
  open(client: Client, relays: Set<WebSocketRelay>): void {
    this.client = client;
    this.relays = relays.add(this);
    const { upstream, receiver } = this;
    const hear = <Args extends unknown[]>(
      from: Duplex | Receiver,
      event: string,
      act: (...args: Args) => void,
    ) => from.on(event, guarded(this, act));
    hear(receiver, 'message', (data: Buffer, isBinary: boolean) => this.toClient(data, isBinary));
    hear(receiver, 'ping', (data: Buffer) => void this.client?.ping(data));
    hear(receiver, 'conclude', (code: number, reason: Buffer) => this.closeClient(code, reason));
    hear(receiver, 'error', (error: Error) => this.closeClient(errorCode(error), NOTHING));
    hear(receiver, 'drain', () => this.flow({ isReceiverFull: false }));
    hear(upstream, 'data', (bytes: Buffer) => {
      if (!receiver.write(bytes)) this.flow({ isReceiverFull: true });
    });
    // Without a close frame there is nothing to tell: the client sees its connection end, too.
    for (const event of ['end', 'close', 'error']) hear(upstream, event, () => this.cutClient());
    upstream.resume();
  }

  fail(error: unknown): void {
    this.owner.fail(error);
    this.cutClient();
  }

  message(data: ArrayBuffer, isBinary: boolean): void {
    if (this.isOver) return;
    // uWebSockets.js takes the memory back.
    const copy = Buffer.from(new Uint8Array(data));
    this.sender.send(copy, { binary: isBinary, mask: true, fin: true, compress: false });
    if (this.waitsForTooMuch()) this.closeClient(TRY_LATER, NOTHING);
  }

  /** The client's pings go on: the upstream's answer to them needs no forwarding, uWebSockets.js has answered already. */
  ping(data: ArrayBuffer): void {
    if (!this.isOver) this.sender.ping(Buffer.from(new Uint8Array(data)), true);
  }

  /** The client answers a ping of the upstream. */
  pong(data: ArrayBuffer): void {
    if (!this.isOver) this.sender.pong(Buffer.from(new Uint8Array(data)), true);
  }

  drained(): void {
    this.flow({ isClientFull: false });
  }

  /** The client's side is closed, by whomever. */
  closed(code: number, reason: ArrayBuffer): void {
    this.client = undefined;
    this.relays?.delete(this);
    if (this.isOver) return;
    this.isOver = true;
    const { upstream } = this;
    if (isSendable(code)) {
      this.sender.close(
        code === NO_STATUS ? undefined : code,
        Buffer.from(new Uint8Array(reason)),
        true,
        () => upstream.end(),
      );
    } else upstream.destroy();
    this.owner.ended();
  }

  /** The gateway stops. */
  goAway(): void {
    this.client?.end(GOING_AWAY);
  }

  private waitsForTooMuch(): boolean {
    const own = this.upstream.writableLength;
    if (own <= UNNOTICED_BYTES) return false;
    let all = 0;
    for (const { upstream } of this.relays ?? []) all += upstream.writableLength;
    return own > MAX_WAITING_BYTES || all > MAX_ALL_WAITING_BYTES;
  }

  private toClient(data: Buffer, isBinary: boolean): void {
    if (!this.client) return;
    this.owner.wrote(data.length);
    // 0: it waits for the client to take it.
    if (this.client.send(data, isBinary) === 0) this.flow({ isClientFull: true });
  }

  private flow(change: { readonly isClientFull?: boolean; readonly isReceiverFull?: boolean }): void {
    Object.assign(this, change);
    if (this.isClientFull || this.isReceiverFull) this.upstream.pause();
    else this.upstream.resume();
  }

  /** Tells the client why; its handler then closes the upstream's side. */
  private closeClient(code: number, reason: Buffer): void {
    if (code === NO_STATUS) this.client?.end();
    else this.client?.end(code, reason);
  }

  private cutClient(): void {
    this.upstream.destroy();
    this.client?.close();
  }
}

function isSendable(code: number): boolean {
  return (
    code === NO_STATUS || (code >= 1000 && code <= 4999 && code !== 1004 && code !== 1006 && code !== 1015)
  );
}

/** `ws` notes on its errors which close code they mean. */
function errorCode(error: Error & { readonly code?: string }): number {
  return error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' ? TOO_BIG : 1002;
}

/** What uWebSockets.js does with WebSockets: whatever they say goes to their relay; `relays` are those that are open. */
export function relaying(
  relays: Set<WebSocketRelay>,
  left: () => void,
): Omit<WebSocketBehavior<Relayed>, 'upgrade'> {
  const tell = (client: Client, act: (relay: WebSocketRelay) => void): void => {
    const { relay } = client.getUserData();
    guarded(relay, act)(relay);
  };
  return {
    compression: 0,
    maxPayloadLength: MAX_MESSAGE_BYTES,
    maxBackpressure: 2 * MAX_MESSAGE_BYTES,
    closeOnBackpressureLimit: true,
    // Silence is the business of `proxy_read_timeout`.
    idleTimeout: 0,
    sendPingsAutomatically: false,
    open: (client) => tell(client, (relay) => relay.open(client, relays)),
    message: (client, data, isBinary) => tell(client, (relay) => relay.message(data, isBinary)),
    ping: (client, data) => tell(client, (relay) => relay.ping(data)),
    pong: (client, data) => tell(client, (relay) => relay.pong(data)),
    drain: (client) => tell(client, (relay) => relay.drained()),
    close: (client, code, reason) => {
      left();
      tell(client, (relay) => relay.closed(code, reason));
    },
  };
}
