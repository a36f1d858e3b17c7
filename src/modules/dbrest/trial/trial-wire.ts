import type { TrialResponse } from '../../../contract/index.ts';
import { type BodyReader, Exchange, type ResponseStream, type Wire } from '../../../http/index.ts';

/** Bytes of a response body that are kept; the rest is counted. */
const MOST_BODY_BYTES = 65_536;

/** A request as the client of a REST location would send it. */
export interface TriedRequest {
  readonly method: string;
  readonly requestUri: string;
  readonly uri: string;
  readonly args: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** The wire of a trial: the request comes from an operator, and its response is kept instead of being sent. */
export class TrialWire implements Wire {
  readonly x: Exchange;
  readonly peerPort = 0;
  readonly requestLength = 0;
  readonly sendsTrailers = false;
  readonly lingers = false;
  readonly tunnels = (): boolean => false;
  readonly #origin: Exchange;
  readonly #body: Buffer;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #keptBytes = 0;

  constructor({ body, ...tried }: TriedRequest, origin: Exchange) {
    this.#origin = origin;
    this.#body = body;
    const { rules, request } = origin;
    // What the console adds to its own responses is no part of a trial's.
    const own = { filters: [], bodyFilters: [], logs: [], errorPages: undefined, tooLarge: undefined };
    this.x = new Exchange(
      { ...request, ...tried, contentLength: body.byteLength },
      { wire: this, rules: { ...rules, ...own } },
    );
  }

  get peerAddress(): string {
    return this.#origin.remoteAddress;
  }

  /** The operator has closed the connection. */
  get isLeft(): boolean {
    return this.#origin.aborted;
  }

  /** The response; `undefined` if there is none. */
  get response(): TrialResponse | undefined {
    const { status, response } = this.x;
    if (status === 0) return undefined;
    const { type, headers: list = [] } = response;
    const named = list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1] ?? ''] as const] : []));
    return {
      status,
      headers: type === '' ? named : [['Content-Type', type], ...named],
      body: Buffer.concat(this.#pieces).toString(),
      bodyBytes: this.#bytes,
      isCut: this.#bytes > this.#keptBytes,
    };
  }

  keepPeer(): void {
    this.#origin.wire.keepPeer();
  }

  readBody({ limitBytes, receive, settle, fail }: BodyReader): void {
    if (this.#body.byteLength > limitBytes) settle('too large');
    else if (receive) Promise.resolve(receive(this.#body)).then(() => settle(Buffer.alloc(0)), fail);
    else settle(this.#body);
  }

  write(body: string | Uint8Array): void {
    if (this.x.request.method !== 'HEAD') this.#keep(body);
  }

  open(): ResponseStream | undefined {
    if (this.x.request.method === 'HEAD') return undefined;
    return {
      write: (chunk) => {
        this.#keep(chunk);
        return true;
      },
      drained: () => Promise.resolve(),
      end: () => undefined,
    };
  }

  tunnel(): void {
    // A REST location changes no protocol.
  }

  close(): void {
    this.x.aborted = this.x.done = true;
  }

  #keep(chunk: string | Uint8Array): void {
    const bytes = Buffer.from(chunk as Uint8Array);
    this.#bytes += bytes.byteLength;
    const kept = bytes.subarray(0, MOST_BODY_BYTES - this.#keptBytes);
    if (kept.byteLength === 0) return;
    this.#keptBytes += kept.byteLength;
    this.#pieces.push(kept);
  }
}
