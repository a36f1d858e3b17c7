import type { RequestTrace } from '../http/index.ts';
import type { RequestHead } from './protocol.ts';

/**
 * Returns the head of a request in which the span of a try stands in place of that of the client's request. The ids are of
 * the same length, so that nothing else changes. A head without the trace is returned as it is.
 */
export function withSpan(request: RequestHead, trace: RequestTrace, spanId: string): RequestHead {
  const before = `${trace.traceId}-${trace.spanId}`;
  const after = `${trace.traceId}-${spanId}`;
  const { head, fields } = request;
  if (fields) return { ...request, fields: fields.map((field) => field.replace(before, after)) };
  if (typeof head === 'string') return { ...request, head: head.replace(before, after) };
  const at = Buffer.from(head.buffer, head.byteOffset, head.byteLength).indexOf(before, 0, 'latin1');
  if (at < 0) return request;
  const own = Buffer.from(head);
  own.write(after, at, 'latin1');
  return { ...request, head: own };
}
