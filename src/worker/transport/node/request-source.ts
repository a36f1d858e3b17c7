import { ChunkReader, CLIENT_CHUNKS } from '../../../http1/index.ts';
import type { BodySource } from '../request-body.ts';

const NOTHING = Buffer.alloc(0);

/** Holds the client back and lets it go on. */
interface Flow {
  pause(): void;
  resume(): void;
}

/** The body of one request as a connection reads it: says where it ends. */
export class RequestSource implements BodySource {
  /** Bytes of it on the wire so far. */
  wireBytes = 0;
  private readonly flow: Flow;
  private readonly chunks: ChunkReader | undefined;
  private left: number;
  private handler: (chunk: Buffer, isLast: boolean) => void = () => undefined;

  /** `lengthBytes`: -1 for a chunked body. */
  constructor(lengthBytes: number, flow: Flow) {
    this.left = lengthBytes;
    this.flow = flow;
    this.chunks = lengthBytes < 0 ? new ChunkReader(CLIENT_CHUNKS) : undefined;
  }

  get isComplete(): boolean {
    return this.chunks ? this.chunks.complete : this.left === 0;
  }

  /** The framing is not what it should be: where the body ends is unknown. */
  get isBroken(): boolean {
    return this.chunks?.broken === true;
  }

  onData(handler: (chunk: Buffer, isLast: boolean) => void): void {
    this.handler = handler;
  }

  pause(): void {
    this.flow.pause();
  }

  resume(): void {
    this.flow.resume();
  }

  /** Gives how many of the bytes belong to the body. */
  take(bytes: Buffer): number {
    const taken = this.chunks ? this.takeChunks(this.chunks, bytes) : this.takePlain(bytes);
    this.wireBytes += taken;
    return taken;
  }

  private takePlain(bytes: Buffer): number {
    const taken = Math.min(this.left, bytes.length);
    this.left -= taken;
    this.handler(bytes.subarray(0, taken), this.left === 0);
    return taken;
  }

  private takeChunks(chunks: ChunkReader, bytes: Buffer): number {
    const taken = chunks.read(bytes, 0, (content) => this.handler(content, false));
    if (chunks.complete) this.handler(NOTHING, true);
    return taken;
  }
}
