import { connect } from 'node:net';
import type { HttpResponse } from 'uWebSockets.js';
import type { Uws } from './loader.ts';

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
