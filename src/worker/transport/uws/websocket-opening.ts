import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { HttpResponse, us_socket_context_t } from 'uWebSockets.js';
import type { Exchange } from '../../../http/index.ts';
import { headerLines } from '../../../http1/index.ts';
import type { Uws } from './loader.ts';
import type { Relayed } from './websocket-behavior.ts';

/** The values that uWebSockets.js needs to accept a WebSocket handshake. */
export interface Handshake {
  readonly key: string;
  readonly context: us_socket_context_t;
}

/** The headers that uWebSockets.js adds to the head of a handshake; used to compute its length. */
const HANDSHAKE: readonly string[] = [
  'Upgrade',
  'websocket',
  'Connection',
  'Upgrade',
  'Sec-WebSocket-Accept',
  '0123456789012345678901234567',
  'Date',
  'Thu, 01 Jan 1970 00:00:00 GMT',
];

/** A request whose connection becomes a WebSocket. */
interface WebSocketOpening {
  readonly x: Exchange;
  readonly res: HttpResponse;
  readonly spare: SpareResponse;
  /** Returns `undefined` if the client has left. */
  handshake(): Handshake | undefined;
  writeHeaders(headers: readonly string[]): void;
  /** Called when the WebSocket has ended. */
  ended(): void;
}

/**
 * Accepts a handshake, and relays messages between the client and `peer`. The relay's library is loaded for the first
 * WebSocket, because most gateways have none.
 */
export async function openWebSocket(peer: Duplex, opening: WebSocketOpening): Promise<void> {
  const { x, res, spare } = opening;
  const [opener, { WebSocketRelay }] = await Promise.all([spare.get(), import('./websocket-relay.ts')]);
  const handshake = opening.handshake();
  if (!handshake) return void peer.destroy();
  const relay = new WebSocketRelay(peer, {
    wrote: (bytes) => x.wrote(bytes),
    ended: () => opening.ended(),
    fail: (error) => x.writeLog(`a WebSocket could not be relayed: ${String(error)}`),
  });
  const protocol = writeHandshake(opening);
  opener.cork(() => res.upgrade<Relayed>({ relay }, handshake.key, protocol, '', handshake.context));
}

/** Writes the head of the handshake without the headers that uWebSockets.js adds; returns the subprotocol. */
function writeHandshake({ x: { response }, res, writeHeaders }: WebSocketOpening): string {
  const protocol = response.header('sec-websocket-protocol') ?? '';
  for (const name of ['accept', 'protocol', 'extensions']) response.removeHeader(`sec-websocket-${name}`);
  const chosen = protocol === '' ? [] : ['Sec-WebSocket-Protocol', protocol];
  response.sentText = `HTTP/1.1 101 Switching Protocols\r\n${headerLines([...(response.headers ?? []), ...HANDSHAKE, ...chosen])}\r\n`;
  res.cork(() => {
    res.writeStatus('101 Switching Protocols');
    if (response.headers) writeHeaders(response.headers);
  });
  return protocol;
}

const HOST = '127.0.0.1';

interface Spare {
  readonly response: HttpResponse;
  close(): void;
}

/**
 * A response of this thread that is never sent. WebSockets are opened inside its cork. In their own corks, a few of
 * 10,000 would be closed at once: at the end of a cork, uWebSockets.js 20.51 reads the response's state from memory
 * that the WebSocket has released. Outside any cork, it prints a warning for each.
 */
export class SpareResponse {
  readonly #uws: Uws;
  #spare: Promise<Spare> | undefined = undefined;

  constructor(uws: Uws) {
    this.#uws = uws;
  }

  /** Resolves to the response, which must be used at once. Rejects if this thread cannot connect to itself. */
  async get(): Promise<HttpResponse> {
    this.#spare ??= this.#open();
    try {
      return (await this.#spare).response;
    } catch (error) {
      this.#spare = undefined;
      throw error;
    }
  }

  /** Closes everything: a thread that exits with an open socket would end the process. */
  async close(): Promise<void> {
    const spare = await this.#spare?.catch(() => undefined);
    spare?.close();
  }

  /** Sends a request to a port that accepts only this one. */
  #open(): Promise<Spare> {
    const uws = this.#uws;
    const app = uws.App();
    return new Promise((resolve, reject) => {
      app.listen(HOST, 0, (listening) => {
        if (!listening) return reject(new Error(`no port of ${HOST} is free`));
        const client = connect(uws.us_socket_local_port(listening), HOST);
        const close = (): void => {
          client.destroy();
          app.close();
        };
        let taken: HttpResponse | undefined;
        app.any('/*', (response) => {
          // Another client has found the port meanwhile.
          if (taken) return void response.close();
          taken = response;
          uws.us_listen_socket_close(listening);
          response.onAborted(() => {
            this.#spare = undefined;
            setImmediate(close);
          });
          resolve({ response, close });
        });
        client.on('error', (error) => {
          reject(error);
          close();
        });
        client.unref().write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
      });
    });
  }
}
