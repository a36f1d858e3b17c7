import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Exchange, type Getter, type ResponseStream } from '../../http/index.ts';

/** Bytes of text that are collected before they are sent. */
const MOST_BYTES = 65_536;

/** The body that directives write in turn. If it is sent at once, the response has a length. */
export class Output {
  readonly #x: Exchange;
  readonly #typeOf: Getter;
  #waiting: Buffer[] = [];
  #bytes = 0;
  /** `null` for HEAD: only the head is sent. */
  #stream: ResponseStream | null | undefined;

  constructor(x: Exchange, typeOf: Getter) {
    this.#x = x;
    this.#typeOf = typeOf;
  }

  /** True if text waits to be sent. */
  get hasText(): boolean {
    return this.#bytes > 0;
  }

  /** True if no more text is sent: the request is a HEAD, or the client has left. */
  get isOver(): boolean {
    return this.#stream === null || this.#x.aborted;
  }

  async add(piece: Buffer): Promise<void> {
    if (this.isOver) return;
    this.#waiting.push(piece);
    this.#bytes += piece.byteLength;
    if (this.#bytes <= MOST_BYTES) return;
    await this.send();
    // A client that reads as fast as the text is made does not keep other requests waiting.
    await nextTurn();
  }

  /** Sends the head, and the text so far. */
  async send(): Promise<void> {
    if (this.#stream === undefined) this.#stream = this.#x.stream(200, this.#typeOf(this.#x) ?? '') ?? null;
    const text = this.#take();
    if (this.#x.aborted || !this.#stream || text.byteLength === 0) return;
    if (!this.#stream.write(text)) await this.#stream.drained();
  }

  async end(): Promise<void> {
    if (this.#stream === undefined) return this.#x.send(200, this.#typeOf(this.#x) ?? '', this.#take());
    await this.send();
    this.#stream?.end();
  }

  #take(): Buffer {
    const text = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#bytes = 0;
    return text;
  }
}
