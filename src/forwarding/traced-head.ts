import type { RequestTrace } from '../http/index.ts';
import type { RequestHead } from './protocol.ts';

/**
 * Returns the head of a request in which the span of a try stands in place of that of the client's request. The ids are of
 * the same length, so that nothing else changes; a configured header may repeat them. A head without the trace is returned as it is.
 */
export function withSpan(request: RequestHead, trace: RequestTrace, spanId: string): RequestHead {
  const before = `${trace.traceId}-${trace.spanId}`;
  const after = `${trace.traceId}-${spanId}`;
  const { head, fields } = request;
  if (fields) return { ...request, fields: fields.map((field) => field.replaceAll(before, after)) };
  if (typeof head === 'string') return { ...request, head: head.replaceAll(before, after) };
  const own = Buffer.from(head);
  for (let at = -1; (at = own.indexOf(before, at + 1, 'latin1')) >= 0;) own.write(after, at, 'latin1');
  return { ...request, head: own };
}
