import type { SubrequestFacts } from './answer-rules.ts';
import type { ConnectionFacts } from './request-facts.ts';
import { Exchange, type PieceReceiver } from './exchange.ts';
import type { ResponseStream } from './response-stream.ts';

/** A subrequest, and when it is answered its answer but for the body. Headers, address and `set` variables are those of the request it is for. */
export class Subrequest extends Exchange {
  readonly #parent: Exchange;
  readonly #facts: SubrequestFacts;
  readonly #answered: () => void;

  /** `answered` runs once, whatever ends it. */
  constructor(parent: Exchange, facts: SubrequestFacts, answered: () => void) {
    const method = facts.method ?? 'GET';
    const { requestUri, host, httpVersion, serial } = parent;
    const contentLength = facts.body === 'parent' ? parent.contentLength : 0;
    // A named location sees what was asked of the parent.
    const { uri, args = '' } = facts.uri.startsWith('@') ? parent : facts;
    super(
      { method, requestUri, uri, args, host, httpVersion, contentLength, serial },
      parent.port,
      parent.rules,
    );
    this.#parent = parent;
    this.#facts = facts;
    this.#answered = answered;
    this.serverName = parent.serverName;
    this.slots = parent.slots ??= [];
    this.captures = parent.captures;
    this.internal = true;
    this.isOriginalUri = false;
    parent.onAbort(() => this.abort());
  }

  override get main(): Exchange {
    return this.#parent.main;
  }

  override get connection(): ConnectionFacts | undefined {
    return this.#parent.connection;
  }

  get headers(): readonly string[] {
    return this.#parent.headers;
  }

  get peerAddress(): string {
    return this.#parent.remoteAddress;
  }

  override keepPeer(): void {
    this.#parent.keepPeer();
  }

  get peerPort(): number {
    return this.#parent.remotePort;
  }

  get requestLength(): number {
    return this.#parent.requestLength;
  }

  header(name: string): string | undefined {
    return this.#parent.header(name);
  }

  readBody(limitBytes?: number): Promise<Buffer | undefined> {
    return this.#facts.body === 'parent'
      ? this.#parent.readBody(limitBytes)
      : Promise.resolve(Buffer.alloc(0));
  }

  readPieces(receive: PieceReceiver, limitBytes?: number): Promise<boolean> {
    return this.#facts.body === 'parent'
      ? this.#parent.readPieces(receive, limitBytes)
      : Promise.resolve(true);
  }

  abort(status = 444): void {
    if (this.aborted) return;
    this.aborted = true;
    if (!this.done) this.status = status;
    this.done = true;
    this.#answered();
  }

  onAbort(listener: () => void): void {
    this.#parent.onAbort(listener);
  }

  override onEnd(listener: () => void): void {
    this.#parent.onEnd(listener);
  }

  /** nginx logs subrequests only where it is asked to. */
  protected override log(): void {
    super.log(this.rules.subrequestLogs);
  }

  protected writeAnswer(_status: number, _contentType: string, body: string | Uint8Array): void {
    const { keep } = this.#facts;
    if (keep !== 'head' && body.length > 0) void keep(Buffer.from(body as Uint8Array));
    this.#answered();
  }

  protected openStream(): ResponseStream {
    const { keep } = this.#facts;
    let taken = Promise.resolve();
    return {
      write: (chunk) => {
        if (keep === 'head') return true;
        taken = keep(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
        return false;
      },
      drained: () => taken,
      end: () => this.#answered(),
    };
  }
}
