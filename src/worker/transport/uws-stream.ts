import type { HttpResponse } from 'uWebSockets.js';
import type { ResponseStream } from '../../http/index.ts';
import { guarded } from './guarded.ts';
import type { Failing } from './guarded.ts';

/** What a stream tells the exchange it belongs to. */
export interface StreamOwner extends Failing {
  readonly aborted: boolean;
  wrote(bytes: number): void;
  finished(): void;
  abort(): void;
}

/** A chunked answer. A client that takes nothing for `timeoutMs` is cut. */
export class UwsStream implements ResponseStream {
  private readonly res: HttpResponse;
  private readonly owner: StreamOwner;
  private readonly timeoutMs: number;
  private waiting: { readonly resolve: () => void; readonly timer: NodeJS.Timeout } | undefined = undefined;
  private full = false;
  private ended = false;

  constructor(res: HttpResponse, owner: StreamOwner, timeoutMs: number) {
    this.res = res;
    this.owner = owner;
    this.timeoutMs = timeoutMs;
    const goOn = guarded(owner, () => {
      this.full = false;
      this.release();
    });
    res.onWritable(() => {
      goOn();
      return true;
    });
  }

  write(chunk: string | Uint8Array): boolean {
    // An empty chunk would end the answer.
    if (this.ended || this.owner.aborted || chunk.length === 0) return !this.full;
    this.owner.wrote(typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.byteLength);
    this.res.cork(() => {
      this.full = !this.res.write(chunk);
    });
    return !this.full;
  }

  drained(): Promise<void> {
    if (!this.full || this.ended || this.owner.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(
        guarded(this.owner, () => this.owner.abort()),
        this.timeoutMs,
      );
      this.waiting = { resolve, timer };
    });
  }

  end(): void {
    if (this.ended || this.owner.aborted) return;
    this.ended = true;
    this.res.cork(() => this.res.end());
    this.owner.finished();
  }

  /** Lets a writer go on that waits; also when the client is gone, and its next write does nothing. */
  release(): void {
    clearTimeout(this.waiting?.timer);
    this.waiting?.resolve();
    this.waiting = undefined;
  }
}
