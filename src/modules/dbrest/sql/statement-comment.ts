import { type Exchange, requestId, traceparentOf } from '../../../http/index.ts';

/**
 * Returns the comment that tells the database of a request (sqlcommenter, "Specification"): its id, and the trace if it has
 * one. `spanId`: the span of the statements, if they have their own.
 */
export function statementComment(x: Exchange, spanId?: string): string {
  const { trace } = x.main;
  const id = `request_id='${encoded(requestId(x))}'`;
  if (!trace?.traceId) return `/*${id}*/ `;
  const { traceId, sampled } = trace;
  return `/*${id},traceparent='${traceparentOf({ traceId, spanId: spanId ?? trace.spanId, sampled })}'*/ `;
}

/** Clients may choose ids, of visible ASCII. What is left are letters, digits and `-_.~%`, which can end neither value nor comment. */
function encoded(value: string): string {
  return encodeURIComponent(value).replace(/[!'()*]/g, hexadecimal);
}

function hexadecimal(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
