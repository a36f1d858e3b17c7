import {
  type BodyReader,
  Exchange,
  type RequestFacts,
  type ResponseRules,
  type ResponseStream,
  type Wire,
} from '../../http/index.ts';
import type { Tracer } from './tracer.ts';

/** A request to explain, as an engine would have read it. */
interface ExplainedRequest {
  readonly request: RequestFacts;
  readonly rules: ResponseRules;
  readonly peerAddress: string;
  readonly body: Buffer;
}

/** The wire of a simulated request: the compiled handlers run on it, and their responses go to a tracer. */
export class ExplainedWire implements Wire {
  readonly x: Exchange;
  readonly peerAddress: string;
  readonly peerPort = 0;
  readonly requestLength = 0;
  readonly sendsTrailers = false;
  readonly lingers = false;
  readonly tunnels = (): boolean => false;
  /** Resolves when the request has ended. */
  readonly settled: Promise<void>;
  readonly #tracer: Tracer;
  readonly #body: Buffer;
  #settle: () => void = () => undefined;

  constructor({ request, rules, peerAddress, body }: ExplainedRequest, tracer: Tracer) {
    this.peerAddress = peerAddress;
    this.#body = body;
    this.#tracer = tracer;
    this.settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.x = new Exchange(request, { wire: this, rules });
  }

  keepPeer(): void {
    // The address of the peer is already known.
  }

  readBody({ receive, settle, fail }: BodyReader): void {
    Promise.resolve(receive?.(this.#body)).then(() => settle(receive ? NOTHING : this.#body), fail);
  }

  write(body: string | Uint8Array): void {
    this.#tracer.answers(this.x, { body });
    this.#settle();
  }

  /** As for HEAD, no body is written. */
  open(lengthBytes: number): ResponseStream | undefined {
    this.#tracer.answers(this.x, { lengthBytes });
    this.#settle();
    return undefined;
  }

  tunnel(): void {
    // There is no client connection.
  }

  close(): void {
    if (this.x.done) return;
    this.x.aborted = this.x.done = true;
    this.#tracer.closed(this.x.status);
    this.#settle();
  }

  /** Stops the phases once the content handler has been described. */
  stop(): void {
    this.x.done = true;
    this.#settle();
  }
}

const NOTHING = Buffer.alloc(0);
