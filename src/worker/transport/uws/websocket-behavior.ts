import type { WebSocket, WebSocketBehavior } from 'uWebSockets.js';
import { type Failing, guarded } from '../transport.ts';

/** Largest message of either side; a larger one closes the connection with 1009. */
export const MAX_MESSAGE_BYTES = 16_777_216;

/** Relays one client's WebSocket. */
export interface Relay extends Failing {
  /** Called when the client's WebSocket is open. Until it is closed, the relay is in `relays`. */
  open(client: Client, relays: Set<Relay>): void;
  message(data: ArrayBuffer, isBinary: boolean): void;
  ping(data: ArrayBuffer): void;
  pong(data: ArrayBuffer): void;
  drained(): void;
  /** Called when the client's WebSocket is closed, by either side. */
  closed(code: number, reason: ArrayBuffer): void;
  /** Called when the gateway stops. */
  goAway(): void;
  /** Bytes that wait for the upstream. */
  readonly waitingBytes: number;
}

/** The user data of a client's WebSocket. uWebSockets.js copies its members, so the relay must be one of them. */
export interface Relayed {
  readonly relay: Relay;
}

export type Client = WebSocket<Relayed>;

/** Returns the WebSocket behaviour for uWebSockets.js: all events go to the relays. `relays` holds the open ones. */
export function relaying(relays: Set<Relay>, left: () => void): Omit<WebSocketBehavior<Relayed>, 'upgrade'> {
  const tell = (client: Client, act: (relay: Relay) => void): void => {
    const { relay } = client.getUserData();
    guarded(relay, act)(relay);
  };
  return {
    compression: 0,
    maxPayloadLength: MAX_MESSAGE_BYTES,
    maxBackpressure: 2 * MAX_MESSAGE_BYTES,
    closeOnBackpressureLimit: true,
    // `proxy_read_timeout` limits silence.
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
