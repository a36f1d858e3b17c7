import type { ServerHttp2Stream } from 'node:http2';
import type { BodySource } from '../request-body.ts';
import { type Failing, guarded } from '../transport.ts';

const NOTHING = Buffer.alloc(0);

/** The body of a request on a stream. While it is paused, the client gets no new window and must wait. */
export class StreamBody implements BodySource {
  receivedBytes = 0;
  readonly #stream: ServerHttp2Stream;
  readonly #owner: Failing;

  constructor(stream: ServerHttp2Stream, owner: Failing) {
    this.#stream = stream;
    this.#owner = owner;
  }

  onData(handler: (chunk: Buffer, isLast: boolean) => void): void {
    const take = guarded(this.#owner, handler);
    this.count();
    this.#stream.on('data', (chunk: Buffer) => take(chunk, false));
    // After a reset the body ends as well, but it is incomplete.
    this.#stream.on('end', () => {
      if (!this.#stream.aborted) take(NOTHING, true);
    });
  }

  /** Counts received bytes. Call it only where the body is read in the same turn. */
  count(): void {
    this.#stream.on('data', (chunk: Buffer) => (this.receivedBytes += chunk.length));
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }
}
