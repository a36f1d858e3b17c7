import { ChunkReader, CLIENT_CHUNKS } from '../../../http1/index.ts';
import type { BodySource } from '../request-body.ts';

const NOTHING = Buffer.alloc(0);

const drop = (): void => undefined;

/** Pauses and resumes reading from the client. */
interface Flow {
  pause(): void;
  resume(): void;
}

/** The body of one request on a connection. It finds the end of the body. */
export class RequestSource implements BodySource {
  /** Bytes received so far, including chunk framing. */
  wireBytes = 0;
  readonly #flow: Flow;
  readonly #chunks: ChunkReader | undefined;
  #left: number;
  #handler: (chunk: Buffer, isLast: boolean) => void = drop;

  /** `lengthBytes` is -1 for a chunked body. */
  constructor(lengthBytes: number, flow: Flow) {
    this.#left = lengthBytes;
    this.#flow = flow;
    this.#chunks = lengthBytes < 0 ? new ChunkReader(CLIENT_CHUNKS) : undefined;
  }

  get isComplete(): boolean {
    return this.#chunks ? this.#chunks.complete : this.#left === 0;
  }

  /** True if the chunk framing is invalid, so that the end of the body is unknown. */
  get isBroken(): boolean {
    return this.#chunks?.broken === true;
  }

  onData(handler: (chunk: Buffer, isLast: boolean) => void): void {
    this.#handler = handler;
  }

  pause(): void {
    this.#flow.pause();
  }

  resume(): void {
    this.#flow.resume();
  }

  /** Consumes bytes of the body. Returns how many belong to it. */
  take(bytes: Buffer): number {
    const taken = this.#chunks ? this.#takeChunks(this.#chunks, bytes) : this.#takePlain(bytes);
    this.wireBytes += taken;
    return taken;
  }

  #takePlain(bytes: Buffer): number {
    const taken = Math.min(this.#left, bytes.length);
    this.#left -= taken;
    this.#handler(bytes.subarray(0, taken), this.#left === 0);
    return taken;
  }

  /** Chunks that arrived together are one piece. */
  #takeChunks(chunks: ChunkReader, bytes: Buffer): number {
    const contents: Buffer[] = [];
    const taken = chunks.read(bytes, 0, (content) => void contents.push(content));
    const [first = NOTHING] = contents;
    if (contents.length > 0 || chunks.complete)
      this.#handler(contents.length > 1 ? Buffer.concat(contents) : first, chunks.complete);
    return taken;
  }
}
