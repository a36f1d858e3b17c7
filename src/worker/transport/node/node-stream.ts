import type { Duplex } from 'node:stream';
import type { ResponseStream } from '../../../http/index.ts';
import { CHUNK_END, chunkStart, lastChunk } from '../../../http1/index.ts';
import { type Failing, guarded, type StreamOwner } from '../transport.ts';
import type { ExchangeConnection } from './node-port.ts';

/** How the end of the body is marked. */
export type BodyEnd = 'length' | 'chunked' | 'close';

/** Options of a response that is sent in pieces. */
interface StreamOptions {
  /** Sent with the first piece, or at the end of this turn of the event loop. */
  readonly head: string;
  readonly framing: BodyEnd;
  /** Used with the framing `length`. */
  readonly lengthBytes: number;
  readonly timeoutMs: number;
  /** Returns the trailer fields: name, value, name, value … */
  readonly trailers: (() => readonly string[]) | undefined;
}

/** A response that is sent piece by piece. A client that takes nothing for `timeoutMs` is disconnected. */
export class NodeStream implements ResponseStream {
  readonly #connection: ExchangeConnection;
  readonly #owner: StreamOwner;
  readonly #facts: StreamOptions;
  #head: string;
  #left: number;
  #ended = false;

  constructor(connection: ExchangeConnection, owner: StreamOwner, facts: StreamOptions) {
    this.#connection = connection;
    this.#owner = owner;
    this.#facts = facts;
    this.#head = facts.head;
    this.#left = facts.framing === 'length' ? facts.lengthBytes : Infinity;
    setImmediate(guarded(owner.x, () => this.sendHead()));
  }

  /** Sends the head, if it still waits for the first piece. */
  sendHead(): void {
    if (!this.#ended && !this.#owner.x.aborted) this.#connection.write(this.#takeHead());
  }

  write(chunk: string | Uint8Array): boolean {
    // An empty chunk would end the body.
    if (this.#ended || this.#owner.x.aborted || chunk.length === 0) return !this.#connection.isFull;
    const bytes = (typeof chunk === 'string' ? Buffer.from(chunk) : chunk).subarray(0, this.#left);
    this.#left -= bytes.length;
    this.#owner.x.wrote(bytes.length);
    if (this.#facts.framing !== 'chunked') this.#connection.write(this.#takeHead(), bytes);
    else this.#connection.write(this.#takeHead() + chunkStart(bytes.length), bytes, CHUNK_END);
    return !this.#connection.isFull;
  }

  drained(): Promise<void> {
    return this.#connection.isFull && !this.#ended
      ? this.#connection.flushed(this.#facts.timeoutMs)
      : Promise.resolve();
  }

  /**
   * Ends the body. If it is shorter than its length, the connection is closed, so that the client does not take it for
   * complete.
   */
  end(): void {
    if (this.#ended || this.#owner.x.aborted) return;
    this.#ended = true;
    if (this.#facts.framing === 'length' && this.#left > 0) return this.#owner.x.abort();
    this.#connection.write(
      this.#takeHead() + (this.#facts.framing === 'chunked' ? lastChunk(this.#facts.trailers?.()) : ''),
    );
    this.#owner.finished();
  }

  /** Called when the client has closed the connection. */
  release(): void {
    this.#ended = true;
    this.#head = '';
  }

  #takeHead(): string {
    const head = this.#head;
    this.#head = '';
    return head;
  }
}

/** Receives the events of a tunnel. */
interface TunnelOwner extends Failing {
  wrote(bytes: number): void;
  ended(): void;
}

/**
 * Relays bytes both ways until one side has ended and the other has received everything (nginx: an upgraded
 * connection).
 */
export function joinStreams(client: Duplex, upstream: Duplex, owner: TunnelOwner): void {
  let isOver = false;
  const over = guarded(owner, () => {
    if (isOver) return;
    isOver = true;
    client.destroy();
    upstream.destroy();
    owner.ended();
  });
  upstream.on(
    'data',
    guarded(owner, (bytes: Buffer) => owner.wrote(bytes.length)),
  );
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.on('error', over).on('close', over);
    to.on('finish', over);
    from.pipe(to);
  }
}
