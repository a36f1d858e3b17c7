import type { HttpResponse } from 'uWebSockets.js';

/** What a large answer tells the exchange it belongs to. */
export interface LargeAnswerOwner {
  abort(): void;
  finished(): void;
}

/** How to send it. */
export interface LargeAnswerRules {
  /** A client that takes nothing for so long is cut. */
  readonly timeoutMs: number;
  /** The connection closes behind it. */
  readonly closes: boolean;
}

/**
 * Sends a body piece by piece, as the client takes it: `end` would copy all of it into memory per connection. To be begun
 * inside a cork, behind the head.
 */
export class LargeAnswer {
  private readonly res: HttpResponse;
  private readonly owner: LargeAnswerOwner;
  private body: Buffer;
  private readonly lengthBytes: number;
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(res: HttpResponse, body: Buffer, owner: LargeAnswerOwner) {
    this.res = res;
    this.body = body;
    this.lengthBytes = body.byteLength;
    this.owner = owner;
  }

  begin({ timeoutMs, closes }: LargeAnswerRules): void {
    const start = this.res.getWriteOffset();
    const offer = closes ? this.offerAndClose : this.offer;
    if (closes ? this.beginClosing() : this.offer(0)) return;
    this.timer = setTimeout(() => this.owner.abort(), timeoutMs);
    this.res.onWritable((offset) => {
      this.timer?.refresh();
      return offer(offset - start);
    });
  }

  /** The client is gone, or has everything. */
  release(): void {
    clearTimeout(this.timer);
    this.body = Buffer.alloc(0);
  }

  private readonly offer = (from: number): boolean => {
    const [taken, complete] = this.res.tryEnd(this.body.subarray(from), this.lengthBytes);
    if (complete) {
      this.release();
      this.owner.finished();
    }
    return taken;
  };

  /** `tryEnd` cannot close. The length that its first call names is what the client sees, and one byte is still missing. */
  private beginClosing(): boolean {
    const last = this.lengthBytes - 1;
    const [taken] = this.res.tryEnd(this.body.subarray(0, last), this.lengthBytes);
    return taken && this.offerAndClose(last);
  }

  /** Names a length that is never reached, so that the answer stays open until we close it. */
  private readonly offerAndClose = (from: number): boolean => {
    const [taken] = this.res.tryEnd(this.body.subarray(from), this.lengthBytes + 1);
    if (taken) {
      this.release();
      // Inside a cork what is not yet sent would be lost.
      setImmediate(() => this.owner.abort());
    }
    return taken;
  };
}
