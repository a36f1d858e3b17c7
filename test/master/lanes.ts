import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { perTier } from '../harness/tier.ts';

/** What the clients of a test have seen. */
export interface Seen {
  answered: number;
  /** Requests without a complete response, and responses with another status than 200. */
  readonly failures: string[];
  /** The time of each response since its request or, with a fresh connection, since the client began to connect. */
  readonly tookMs: number[];
  /** Longest time between two responses, over all lanes. */
  longestGapMs: number;
}

export interface LanesOptions {
  readonly port: number;
  readonly path?: string;
  /** The port has TLS. */
  readonly tls?: boolean;
  /** Clients that open a connection for every request. */
  readonly fresh?: number;
  /** Clients that keep their connection as long as the server does. */
  readonly kept?: number;
  /** Of a client after a response. */
  readonly pauseMs?: number;
  /** A client that is told to close ends there. */
  readonly leave?: boolean;
}

/** Default of `pauseMs`. A worker that leaves waits longer for the next request. */
const PAUSE_MS = perTier({ short: 25, long: 0 });

/**
 * Clients that send requests until `stop`, in the long tier without a pause. A connection that closes behind a complete
 * response is no failure.
 */
export class Lanes {
  readonly seen: Seen = { answered: 0, failures: [], tookMs: [], longestGapMs: 0 };
  readonly #options: LanesOptions;
  readonly #lanes: Promise<void>[] = [];
  #lastMs = performance.now();
  #stopped = false;

  constructor(options: LanesOptions) {
    const { fresh = 0, kept = 0 } = options;
    this.#options = options;
    for (let lane = 0; lane < fresh; lane++) this.#lanes.push(this.#ask(true));
    for (let lane = 0; lane < kept; lane++) this.#lanes.push(this.#ask(false));
  }

  /** Resolves after so many further responses. */
  async responses(count: number): Promise<void> {
    const wanted = this.seen.answered + count;
    while (this.seen.answered < wanted && this.seen.failures.length < 100) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Resolves when the last client has left. */
  get ended(): Promise<unknown> {
    return Promise.all(this.#lanes);
  }

  /** Requests that are under way are still completed. */
  async stop(): Promise<Seen> {
    this.#stopped = true;
    await this.ended;
    return this.seen;
  }

  async #ask(isFresh: boolean): Promise<void> {
    let socket: Socket | undefined;
    const { pauseMs = PAUSE_MS } = this.#options;
    while (!this.#stopped) {
      try {
        const startedMs = performance.now();
        socket ??= await open(this.#options);
        const head = await exchange(socket, this.#options.path ?? '/', isFresh);
        this.#count(head, performance.now() - startedMs);
        const isTold = /\r\nconnection: close\r\n/i.test(head);
        if (isFresh || isTold) socket = void socket.destroy();
        if (isTold && this.#options.leave === true) return;
        if (pauseMs > 0) await sleep(pauseMs);
      } catch (error) {
        this.seen.failures.push((error as Error).message);
        socket = void socket?.destroy();
        if (this.seen.failures.length > 100) return;
      }
    }
    socket?.destroy();
  }

  #count(head: string, tookMs: number): void {
    this.seen.tookMs.push(tookMs);
    const now = performance.now();
    this.seen.longestGapMs = Math.max(this.seen.longestGapMs, now - this.#lastMs);
    this.#lastMs = now;
    this.seen.answered++;
    if (!head.startsWith('HTTP/1.1 200 ')) this.seen.failures.push(head);
  }
}

async function open({ port, tls = false }: LanesOptions): Promise<Socket> {
  const to = { port, host: '127.0.0.1' };
  const socket = tls ? connectTls({ ...to, rejectUnauthorized: false }) : connect({ ...to, noDelay: true });
  socket.setEncoding('latin1').on('error', () => undefined);
  await once(socket, tls ? 'secureConnect' : 'connect');
  return socket;
}

/** Sends one request and gives the complete response. */
function exchange(socket: Socket, path: string, closes: boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const finish = (act: () => void): void => {
      socket.off('data', take).off('close', fail);
      act();
    };
    const take = (chunk: string): void => {
      text += chunk;
      if (isWhole(text)) finish(() => resolve(text));
    };
    const fail = (): void => finish(() => reject(new Error(`closed after "${text}"`)));
    if (socket.destroyed) return reject(new Error('closed before the request'));
    socket.on('data', take).once('close', fail);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n${closes ? 'Connection: close\r\n' : ''}\r\n`);
  });
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text);
  return length !== null && text.length >= end + 4 + Number(length[1]);
}
