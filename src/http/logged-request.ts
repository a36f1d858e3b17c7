import type { LoggedRequest, LogTag } from '../log/index.ts';
import type { Exchange } from './exchange.ts';
import { requestId } from './request-id.ts';
import { stateKey } from './request.ts';

/** How a location shows its requests in logs and traces. */
export interface ShownRequest {
  /** Returns the id of a request where one may come with it; else a random one counts (`requestId`). */
  readonly requestId?: ((x: Exchange) => string) | undefined;
  /** Returns the tags of lines of the error log (`error_log_tag`). */
  readonly logTags?: ((x: Exchange) => readonly LogTag[]) | undefined;
}

/** The ids of the trace that a request belongs to, in hexadecimal. */
interface TraceIds {
  readonly traceId: string;
  readonly spanId: string;
}

/** Kept with the main exchange by the module that traces requests. */
export const TRACE_IDS = stateKey<TraceIds>('trace');

/** Returns the ids of the trace of a request, if it is traced. */
export function traceIds({ main }: Exchange): TraceIds | undefined {
  return main.state(TRACE_IDS);
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
    return traceIds(this.#x)?.traceId;
  }

  get spanId(): string | undefined {
    return traceIds(this.#x)?.spanId;
  }

  get tags(): readonly LogTag[] {
    return this.#x.rules.shown.logTags?.(this.#x) ?? NO_TAGS;
  }
}
