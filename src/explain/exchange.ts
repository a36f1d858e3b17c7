import {
  type AnswerRules,
  type BodyTransform,
  type ConnectionFacts,
  Exchange,
  type PieceReceiver,
  type PortFacts,
  type RequestFacts,
  type ResponseStream,
} from '../http/index.ts';
import type { Tracer } from './tracer.ts';

/** What an exchange without a client is made of. */
export interface ExplainedRequest {
  readonly request: RequestFacts;
  readonly port: PortFacts;
  readonly rules: AnswerRules;
  readonly headers: readonly string[];
  readonly peerAddress: string;
  readonly connection: ConnectionFacts | undefined;
  readonly body: Buffer;
}

/** A request that nobody sent: the real handlers run on it, and what they do to it goes to a tracer instead of a client. */
export class ExplainedExchange extends Exchange {
  readonly headers: readonly string[];
  readonly peerAddress: string;
  readonly peerPort = 0;
  readonly requestLength = 0;
  /** Resolves when nothing more will happen. */
  readonly settled: Promise<void>;
  readonly #connection: ConnectionFacts | undefined;
  readonly #tracer: Tracer;
  readonly #body: Buffer;
  #settle: () => void = () => undefined;

  constructor(
    { request, port, rules, headers, peerAddress, connection, body }: ExplainedRequest,
    tracer: Tracer,
  ) {
    super(request, port, rules);
    this.headers = headers;
    this.peerAddress = peerAddress;
    this.#connection = connection;
    this.#body = body;
    this.#tracer = tracer;
    this.settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#followRules(rules);
  }

  override get connection(): ConnectionFacts | undefined {
    return this.#connection;
  }

  header(name: string): string | undefined {
    const values = this.headers.filter((_, index) => index % 2 === 1 && this.headers[index - 1] === name);
    return values.length === 0 ? undefined : values.join(name === 'cookie' ? '; ' : ', ');
  }

  readBody(): Promise<Buffer | undefined> {
    return Promise.resolve(this.#body);
  }

  async readPieces(receive: PieceReceiver): Promise<boolean> {
    if (this.#body.length > 0) await receive(this.#body);
    return true;
  }

  /** It has been told what would happen: the phases stop. */
  stop(): void {
    this.done = true;
    this.#settle();
  }

  abort(status = 444): void {
    if (this.aborted || this.done) return;
    this.aborted = this.done = true;
    this.status = status;
    this.#tracer.closed(status);
    this.#settle();
  }

  onAbort(): void {
    // Nobody leaves.
  }

  override onEnd(listener: () => void): void {
    void this.settled.then(listener);
  }

  override end(status: number): void {
    if (!this.done) this.#tracer.ends(this, status);
    super.end(status);
  }

  override redirectInternally(target: string): void | Promise<void> {
    if (!this.done) this.#tracer.jumps(target);
    return super.redirectInternally(target);
  }

  override redirectToPath(path: string): void | Promise<void> {
    if (!this.done) this.#tracer.jumps(path);
    return super.redirectToPath(path);
  }

  /** They have changed the head by now; bodies are not for anybody. */
  protected override openFilters(): readonly BodyTransform[] {
    for (const filter of super.openFilters()) filter.close?.();
    return [];
  }

  protected override log(): void {
    // Logs are for requests that were served.
  }

  protected writeAnswer(status: number, contentType: string, body: string | Uint8Array): void {
    this.#tracer.answers(this, { status, contentType, body });
    this.#settle();
  }

  /** As for HEAD: there is nothing to write to. */
  protected openStream(status: number, contentType: string, lengthBytes: number): ResponseStream | undefined {
    this.#tracer.answers(this, { status, contentType, lengthBytes });
    this.#settle();
    return undefined;
  }

  /** Every place that a request comes to gives it its rules. */
  #followRules(rules: AnswerRules): void {
    let current = rules;
    Object.defineProperty(this, 'rules', {
      get: () => current,
      set: (next: AnswerRules) => {
        current = next;
        this.#tracer.enters(this, next);
      },
    });
  }
}
