import { encodePath, type Exchange, HttpFault, isSafeHeaderName } from '../http/index.ts';

/**
 * Returns the request target for a directive without a URI: the target that the client sent, or the encoded `$uri`
 * after a rewrite (nginx ngx_http_proxy_create_request). No byte in it can end a request line.
 */
export function passedTarget(x: Exchange): string {
  return x.isOriginalUri ? originForm(x.request.requestUri) : encodePath(x.uri) + queryOf(x);
}

/** Returns the query with its `?`; '' without a query. */
export function queryOf(x: Exchange): string {
  return x.args === '' ? '' : `?${sendable(x.args)}`;
}

/** Returns the target after a rewrite that has left the location; `undefined` if the request has not left it. */
export function rewrittenTarget(x: Exchange): string | undefined {
  return x.rewritePhase?.hasLeftLocation ? encodePath(x.uri) + queryOf(x) : undefined;
}

/** Reduces an absolute-form target to its path, because upstreams get origin-form targets only. */
function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '').replace(/^(?!\/)/, '/');
}

const UNSAFE = /[^\x21-\x7e]+/g;

/** Percent-encodes blanks, control bytes and bytes that are not ASCII; leaves everything else unchanged. */
export function sendable(text: string): string {
  return text.replace(UNSAFE, (run) =>
    Buffer.from(run).reduce((out, byte) => `${out}%${byte.toString(16).toUpperCase().padStart(2, '0')}`, ''),
  );
}

/** Returns a configured method. Throws an `HttpFault` (500) if it is not a token. */
export function checkedMethod(text: string): string {
  // A method is a token, as header names are (RFC 9110, 9.1).
  if (isSafeHeaderName(text)) return text.toUpperCase();
  throw new HttpFault(500, 'the method for an upstream is not a token');
}
