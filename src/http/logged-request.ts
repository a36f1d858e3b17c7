import type { LoggedRequest, LogTag } from '../log/index.ts';
import type { Exchange } from './exchange.ts';
import { requestId } from './request-id.ts';
import type { RequestTrace } from './trace.ts';

/** Returns the trace of a request, if it is traced. */
export function tracedBy({ main }: Exchange): RequestTrace | undefined {
  return main.trace?.traceId ? main.trace : undefined;
}

const NO_TAGS: readonly LogTag[] = [];

/** What the error log tells of a request, read when a line is written. */
export class LoggedExchange implements LoggedRequest {
  readonly #x: Exchange;

  constructor(x: Exchange) {
    this.#x = x;
  }

  get requestId(): string {
    return requestId(this.#x);
  }

  get traceId(): string | undefined {
    return tracedBy(this.#x)?.traceId;
  }

  get spanId(): string | undefined {
    return tracedBy(this.#x)?.spanId;
  }

  get tags(): readonly LogTag[] {
    return this.#x.rules.shown.logTags?.(this.#x) ?? NO_TAGS;
  }
}
