import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Owner } from '../harness/owner.ts';

export interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly body?: string;
}

/** A client that sends one request after the other, all on one connection. */
export class SequentialClient {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(owner: Owner, port: number) {
    this.#port = port;
    owner.onTestFinished(async () => this.#agent.destroy());
  }

  /** Throws when a response is not a 2xx. */
  async send({ path, method = 'GET', body }: Sent, times: number): Promise<void> {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    for (let time = 0; time < times; time++) {
      const sent = request({
        host: '127.0.0.1',
        port: this.#port,
        path,
        method,
        headers,
        agent: this.#agent,
      });
      sent.end(body);
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      let text = '';
      for await (const chunk of response) text += String(chunk);
      const { statusCode = 0 } = response;
      if (statusCode < 200 || statusCode > 299) throw new Error(`${method} ${path}: ${statusCode} ${text}`);
    }
  }
}
