import { type BodyFilterOf, type BodyTransform, FilteredStream } from './body-filter.ts';
import { ExchangeState } from './exchange-state.ts';
import { describeFailure, HttpFault } from './status.ts';
import { type ResponseStream, ThrottledStream, writePieces } from './response-stream.ts';

/** Beyond this a body is transformed piece by piece, so that others get their turn: level 6 of gzip takes 2 ms for it. */
const MOST_WHOLE_BYTES = 131_072;

/** The way of a body out of the gateway: through filters, at a rate, to the transport. */
export abstract class Outgoing extends ExchangeState {
  abstract rules: { readonly bodyFilters: readonly BodyFilterOf<ExchangeState>[] };

  /** Closes the connection without an answer (nginx's 444); `status` is what logs say. */
  abstract abort(status?: number): void;
  /** Finishes with a status. */
  abstract end(status: number): void;
  /** Runs when the client goes away before the answer is complete. */
  abstract onAbort(listener: () => void): void;
  protected abstract writeAnswer(status: number, contentType: string, body: string | Uint8Array): void;
  /** `lengthBytes` -1: nobody knows. */
  protected abstract openStream(
    status: number,
    contentType: string,
    lengthBytes: number,
  ): ResponseStream | undefined;
  protected abstract log(): void;

  /** Whether this client can get trailers. */
  protected get sendsTrailers(): boolean {
    return false;
  }

  /** Then the answer comes in chunks, also where its length is known. */
  protected get endsInTrailers(): boolean {
    return this.trailers !== undefined && this.sendsTrailers && this.requestMethod !== 'HEAD';
  }

  /** The fields behind the body. The answer is out: those that cannot be made are left out. */
  protected trailerFields(): readonly string[] {
    try {
      return this.trailers?.() ?? [];
    } catch (error) {
      this.warn(`the trailers of an answer could not be made: ${String(error)}`);
      return [];
    }
  }

  /** What the body passes on its way out; opened one by one, since each sees the head that those before it made. */
  protected openFilters(): readonly BodyTransform[] {
    const open: BodyTransform[] = [];
    if (this.failed) return open;
    const { bodyFilters } = this.rules;
    for (let index = 0; index < bodyFilters.length; index++) {
      const filter = bodyFilters[index] as BodyFilterOf<ExchangeState>;
      if (!filter.wants(this)) continue;
      open.push(filter.open(this));
      this.responseLength = -1;
    }
    return open;
  }

  protected begin(transforms: readonly BodyTransform[]): ResponseStream | undefined {
    const lengthBytes = this.endsInTrailers ? -1 : this.responseLength;
    let stream = this.openStream(this.status, this.responseType, lengthBytes);
    if (!stream) {
      for (const transform of transforms) transform.close?.();
      this.log();
      return undefined;
    }
    if (this.limitRate > 0) {
      const rate = { bytesPerSecond: this.limitRate, afterBytes: this.limitRateAfter };
      stream = new ThrottledStream(stream, rate, () => this.aborted);
    }
    if (transforms.length === 0) return stream;
    this.onAbort(() => {
      for (const transform of transforms) transform.close?.();
    });
    return new FilteredStream(stream, transforms, (error) => this.cut(error));
  }

  /** A whole body through filters or at a limited rate. */
  protected sendThrough(body: string | Uint8Array): void {
    const transforms = this.openFilters();
    let bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const isShort = bytes.byteLength <= MOST_WHOLE_BYTES || transforms.length === 0;
    const isWhole =
      isShort && this.limitRate === 0 && !this.endsInTrailers && transforms.every(({ whole }) => whole);
    if (!isWhole || (this.requestMethod === 'HEAD' && transforms.length > 0)) {
      const stream = this.begin(transforms);
      if (stream) void writePieces(stream, bytes, () => this.aborted);
      return;
    }
    for (const transform of transforms) bytes = transform.whole?.(bytes) ?? bytes;
    if (this.requestMethod !== 'HEAD') this.bodyBytesSent = bytes.byteLength;
    this.writeAnswer(this.status, this.responseType, bytes);
    this.log();
  }

  /**
   * What the configuration adds to an answer could not be made. That ends this request alone, whoever called: with a bare 500
   * (or the status of an `HttpFault`), or without an answer where a part of one is out.
   */
  protected failAnswer(error: unknown): void {
    this.warn(error instanceof HttpFault ? error.message : describeFailure(error));
    if (this.aborted) return;
    if (this.failed || this.sentHead !== undefined) return this.abort();
    this.failed = true;
    this.done = false;
    this.errorStatus = 0;
    this.responseHeaders = this.reason = this.trailers = undefined;
    this.end(error instanceof HttpFault ? error.status : 500);
  }

  /** The head is out: a failure can only be told by cutting the connection. */
  private cut(error: unknown): void {
    this.warn(`the body of an answer could not be made: ${String(error)}`);
    this.abort();
  }
}
