import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly tls?: boolean;
}

/** A response, or why there is none. */
export interface Got {
  /** 0 without a complete response. */
  readonly status: number;
  readonly headers: Readonly<IncomingMessage['headers']>;
  readonly body: string;
  /** `ECONNREFUSED`, `ECONNRESET`, `no response`, `switched`; empty when there is a response. */
  readonly failure: string;
  readonly startedMs: number;
}

/** Longer than a worker that hangs is left alone on a machine with other work: the watchdog counts the CPU time that it had. */
const WAIT_MS = 45_000;
/** The failure of a request that got no response while its connection stayed open. */
export const NO_RESPONSE = 'no response';
/** The failure of a request whose connection was handed over to another protocol. */
const SWITCHED = 'switched';

/** Sends one request on a connection of its own; the path is sent as written. Never rejects. */
export async function ask(port: number, path: string, init: Asked = {}): Promise<Got> {
  const { method = 'GET', headers = {}, body, tls = false } = init;
  const startedMs = performance.now();
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const signal = AbortSignal.timeout(WAIT_MS);
  const options = {
    host: '127.0.0.1',
    port,
    path,
    method,
    headers: { ...length, ...headers },
    signal,
    agent: false as const,
  };
  try {
    const message = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = tls
        ? httpsRequest({ ...options, rejectUnauthorized: false }, resolve)
        : httpRequest(options, resolve);
      // What a peer says in another protocol is no response; Node tells nobody unless it is listened to.
      request.on('upgrade', (_, socket) => {
        socket.destroy();
        reject(Object.assign(new Error('the protocol was switched'), { code: SWITCHED }));
      });
      request.on('error', reject).end(body);
    });
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    return { status: message.statusCode ?? 0, headers: message.headers, body: text, failure: '', startedMs };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    const failure = signal.aborted ? NO_RESPONSE : code;
    return { status: 0, headers: {}, body: '', failure, startedMs };
  }
}
