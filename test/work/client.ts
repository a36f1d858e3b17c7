import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { Agent as TlsAgent, request as requestTls } from 'node:https';
import { callOn, openHttp2 } from '../harness/http2-client.ts';
import type { Owner } from '../harness/owner.ts';

export interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly body?: string;
}

/** How requests are sent. */
export type Over = 'HTTP/1.1' | 'TLS' | 'HTTP/2';

/** A client that sends one request after the other, all on one connection. */
export interface Client {
  /** Throws when a response is not a 2xx. */
  send(sent: Sent, times: number): Promise<void>;
}

export function openClient(owner: Owner, port: number, over: Over): Client {
  return over === 'HTTP/2' ? new StreamClient(owner, port) : new SequentialClient(owner, port, over);
}

class StreamClient implements Client {
  readonly #session;

  constructor(owner: Owner, port: number) {
    this.#session = openHttp2(port);
    owner.onTestFinished(async () => this.#session.destroy());
  }

  async send({ path, ...init }: Sent, times: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      const { status, body } = await callOn(this.#session, path, init);
      if (status < 200 || status > 299) throw new Error(`${path}: ${status} ${body}`);
    }
  }
}

class SequentialClient implements Client {
  readonly #port: number;
  readonly #agent: Agent | TlsAgent;
  readonly #request: typeof request | typeof requestTls;

  constructor(owner: Owner, port: number, over: 'HTTP/1.1' | 'TLS') {
    this.#port = port;
    const kept = { keepAlive: true, maxSockets: 1 };
    this.#agent = over === 'TLS' ? new TlsAgent({ ...kept, rejectUnauthorized: false }) : new Agent(kept);
    this.#request = over === 'TLS' ? requestTls : request;
    owner.onTestFinished(async () => this.#agent.destroy());
  }

  async send({ path, method = 'GET', body }: Sent, times: number): Promise<void> {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    for (let time = 0; time < times; time++) {
      const sent = this.#request({
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
