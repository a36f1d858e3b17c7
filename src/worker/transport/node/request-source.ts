import type { BodySource } from '../request-body.ts';
import { ChunkedBody } from './chunked-body.ts';

const NOTHING = Buffer.alloc(0);

/** Holds the client back and lets it go on. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/** The body of one request as a connection reads it: says where it ends. */
export class RequestSource implements BodySource {
  /** Bytes of it on the wire so far. */
  wireBytes = 0;
  private readonly flow: Flow;
  private readonly chunked: ChunkedBody | undefined;
  private left: number;
  private handler: (chunk: Buffer, isLast: boolean) => void = () => undefined;

  /** `lengthBytes`: -1 for a chunked body. */
  constructor(lengthBytes: number, flow: Flow) {
    this.left = lengthBytes;
    this.flow = flow;
    this.chunked = lengthBytes < 0 ? new ChunkedBody() : undefined;
  }

  get isComplete(): boolean {
    return this.chunked ? this.chunked.isComplete : this.left === 0;
  }

  /** The framing is not what it should be: where the body ends is unknown. */
  get isBroken(): boolean {
    return this.chunked?.isBroken === true;
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
    const taken = this.chunked ? this.takeChunks(this.chunked, bytes) : this.takePlain(bytes);
    this.wireBytes += taken;
    return taken;
  }

  private takePlain(bytes: Buffer): number {
    const taken = Math.min(this.left, bytes.length);
    this.left -= taken;
    this.handler(bytes.subarray(0, taken), this.left === 0);
    return taken;
  }

  private takeChunks(chunked: ChunkedBody, bytes: Buffer): number {
    const taken = chunked.take(bytes, (content) => this.handler(content, false));
    if (chunked.isComplete) this.handler(NOTHING, true);
    return taken;
  }
}
