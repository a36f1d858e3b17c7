import type { Exchange } from './exchange.ts';
import { describeFailure, HttpFault } from './status.ts';

/**
 * Answers a request whose handler failed: 500, or the status of an `HttpFault`. Throws nothing; also for failures in callbacks,
 * where nobody up the stack could answer.
 */
export function failRequest(x: Exchange, error: unknown): void {
  const status = error instanceof HttpFault ? error.status : 500;
  const text = error instanceof HttpFault ? error.message : describeFailure(error);
  x.rules.warn(text, x);
  try {
    x.end(status);
  } catch (second) {
    x.rules.warn(`${describeFailure(second)} while answering ${status}`, x);
    x.abort();
  }
}
