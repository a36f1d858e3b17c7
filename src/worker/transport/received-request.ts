import { Exchange, type PieceReceiver } from '../../http/index.ts';
import { AbortListeners } from './guarded.ts';
import type { BodyOutcome, RequestBody } from './request-body.ts';

/** Most that a body in one piece may have, whatever the limit says: a larger one has no buffer. */
const MOST_WHOLE_BYTES = 1_073_741_824;

/** What both transports make of a request that came over the wire: its headers, and its body on demand. */
export abstract class ReceivedRequest extends Exchange {
  protected abstract readonly body: RequestBody | undefined;
  private readonly abortListeners = new AbortListeners();

  header(name: string): string | undefined {
    let joined: string | undefined;
    for (let index = 0; index < this.headers.length; index += 2) {
      if (this.headers[index] !== name && !this.isUnderscored(index, name)) continue;
      const value = this.headers[index + 1] as string;
      joined = joined === undefined ? value : `${joined}${name === 'cookie' ? '; ' : ', '}${value}`;
    }
    return joined;
  }

  /** nginx reads `X_A` as `$http_x_a` too, where such names count. */
  private isUnderscored(index: number, name: string): boolean {
    const given = this.headers[index] as string;
    return given.length === name.length && given.includes('_') && given.replaceAll('_', '-') === name;
  }

  async readBody(limitBytes?: number): Promise<Buffer | undefined> {
    if (!this.body && !this.done) return Buffer.alloc(0);
    const outcome = await this.take(limitBytes, undefined);
    return typeof outcome === 'string' || this.done ? undefined : outcome;
  }

  async readPieces(receive: PieceReceiver, limitBytes?: number): Promise<boolean> {
    if (!this.body) return !this.done;
    const outcome = await this.take(limitBytes, receive);
    return typeof outcome !== 'string' && !this.done;
  }

  /** Reads the body, whole or in pieces; what cannot be read is answered. */
  private take(limitBytes = Infinity, receive: PieceReceiver | undefined): Promise<BodyOutcome> {
    const { body, rules } = this;
    if (!body || this.done) return Promise.resolve('aborted');
    const limit = Math.min(limitBytes, rules.maxBodyBytes || Infinity, receive ? Infinity : MOST_WHOLE_BYTES);
    return new Promise((resolve, reject) => {
      const settle = (outcome: BodyOutcome): void => {
        try {
          if (typeof outcome === 'string') this.refuseUnread(outcome);
          resolve(outcome);
        } catch (error) {
          reject(error as Error);
        }
      };
      if (this.contentLength > limit) settle('too large');
      else body.read({ limitBytes: limit, timeoutMs: rules.bodyTimeoutMs, settle, receive, fail: reject });
    });
  }

  /** The rest of a body of known length is swallowed, so that the client can read its 413; a chunked one may be endless. */
  private refuseUnread(outcome: Exclude<BodyOutcome, Buffer>): void {
    if (outcome === 'timeout' || this.contentLength < 0) this.closing = true;
    if (outcome === 'timeout') this.end(408);
    else if (outcome === 'too large') this.refuseBody();
  }

  onAbort(listener: () => void): void {
    this.abortListeners.add(listener);
  }

  /** A callback of the engine failed: this request ends with it. */
  fail(error: unknown): void {
    const isAnswered = this.done;
    try {
      this.warn(`a request could not be served: ${String(error)}`);
      this.closing = true;
      if (!isAnswered) this.end(500);
    } finally {
      if (isAnswered || !this.done) this.abort();
    }
  }

  /** Nobody is left to answer. */
  protected left(): void {
    this.aborted = this.done = true;
    this.body?.abort();
    if (this.status === 0) {
      this.status = 499;
      this.rules.warn('client prematurely closed connection', this, 'info');
    }
    this.abortListeners.tell((error) =>
      this.warn(`cleaning up after a client that left failed: ${String(error)}`),
    );
  }
}
