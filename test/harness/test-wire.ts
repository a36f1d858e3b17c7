import {
  type BodyReader,
  Exchange,
  type HeaderFilter,
  type ResponseStream,
  type Wire,
} from '../../src/http/index.ts';
import { RULES } from './rules.ts';

/** The response that a client got. */
export interface SentResponse {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Record<string, string>;
  readonly body: string;
  /** Sent in pieces. */
  readonly streamed?: boolean;
}

interface TestRequest {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly filter?: HeaderFilter | undefined;
  /** Receives what the request writes to the error log. */
  readonly log?: (line: string) => void;
}

/** The wire of a handler that is tested without an engine: it records the response, and can leave like a client. */
export class TestWire implements Wire {
  readonly x: Exchange;
  readonly peerAddress = '127.0.0.1';
  readonly peerPort = 0;
  readonly requestLength = 0;
  readonly sendsTrailers = false;
  readonly lingers = false;
  readonly tunnels = (): boolean => false;
  sent: SentResponse | undefined = undefined;
  /** The connection was closed without the end of the response. */
  cut = false;
  readonly #body: Buffer;
  #streamed = '';
  #held: { begin(): void; readonly released: Promise<void> } | undefined = undefined;

  /** `line`: method and target, such as `GET /items?id=eq.1`. */
  constructor(line: string, { headers = {}, body = '', filter, log = () => undefined }: TestRequest = {}) {
    const [method = '', requestUri = ''] = line.split(/ (.*)/s);
    const [path = '', args = ''] = requestUri.split(/\?(.*)/s);
    this.#body = Buffer.from(body);
    this.x = new Exchange(
      {
        method,
        requestUri,
        uri: decodeURIComponent(path),
        args,
        host: 'test',
        contentLength: this.#body.length,
        serial: 1,
        port: { scheme: 'http', port: 80, address: '127.0.0.1' },
        httpVersion: '1.1',
        headers: Object.entries(headers).flat(),
      },
      {
        wire: this,
        rules: {
          ...RULES,
          ...(filter && { filters: [filter] }),
          writeLog: (message, _, level = 'error') => log(`[${level}] ${message}`),
        },
      },
    );
  }

  keepPeer(): void {
    // The address is known.
  }

  readBody({ receive, settle, fail }: BodyReader): void {
    Promise.resolve(receive?.(this.#body)).then(() => settle(receive ? Buffer.alloc(0) : this.#body), fail);
  }

  write(body: string | Uint8Array): void {
    this.sent = { ...this.#head(), body: Buffer.from(body as string).toString() };
    this.x.finish();
  }

  open(): ResponseStream | undefined {
    const head = { ...this.#head(), streamed: true };
    if (this.x.request.method === 'HEAD') {
      this.sent = { ...head, body: '' };
      return undefined;
    }
    this.#held?.begin();
    return {
      write: (chunk) => {
        this.#streamed += Buffer.from(chunk as string).toString();
        return false;
      },
      drained: () => this.#held?.released ?? new Promise((resolve) => setImmediate(resolve)),
      end: () => (this.sent = { ...head, body: this.#streamed }),
    };
  }

  tunnel(): void {
    // There is no client connection.
  }

  close(): void {
    this.cut = true;
    this.x.leave();
  }

  /** The client closes its connection. */
  leave(): void {
    this.x.leave();
  }

  /** From now on the client takes no piece of a response until it is resumed. */
  holdStream(): { readonly started: Promise<void>; release(): void; bytes(): number } {
    let begin = (): void => undefined;
    let release = (): void => undefined;
    const started = new Promise<void>((resolve) => (begin = resolve));
    const released = new Promise<void>((resolve) => (release = resolve));
    this.#held = { begin, released };
    return { started, release, bytes: () => this.#streamed.length };
  }

  #head(): Omit<SentResponse, 'body'> {
    const { status, response } = this.x;
    const { type, headers: list = [] } = response;
    const headers: Record<string, string> = {};
    for (let index = 0; index < list.length; index += 2)
      headers[(list[index] as string).toLowerCase()] = list[index + 1] as string;
    return { status, headers: { ...headers, 'content-type': type } };
  }
}
