import { encodePath } from '../../http/index.ts';
import type { Exchange } from '../../http/index.ts';
import type { LocationFacts } from '../../contract/index.ts';

/** The URI of `proxy_pass` for this request. */
export interface PassUri {
  /** '' when there is none. */
  readonly uri: string;
  /** Came out of variables: sent as it is. */
  readonly isEvaluated: boolean;
}

/**
 * The request target that goes to the upstream (nginx ngx_http_proxy_create_request). Without a URI what the client sent, or
 * the encoded `$uri` when that has changed; with one, it takes the place of the location's prefix. Nothing in it can end the
 * request line.
 */
export function compileRequestTarget({ kind, path }: LocationFacts): (x: Exchange, pass: PassUri) => string {
  const prefixLength = kind === 'prefix' || kind === 'exact' ? path.length : 0;
  return (x, { uri, isEvaluated }) => {
    if (isEvaluated && uri !== '') return sendable(uri);
    if (uri === '' && x.isOriginalUri) return originForm(x.requestUri);
    const query = x.args === '' ? '' : `?${sendable(x.args)}`;
    if (uri === '' || x.leftLocation) return encodePath(x.uri) + query;
    return sendable(uri) + encodePath(x.uri.slice(Math.min(prefixLength, x.uri.length))) + query;
  };
}

/** Upstreams are asked for a path, also where the client named the host in its request line. */
function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '').replace(/^(?!\/)/, '/');
}

const UNSAFE = /[^\x21-\x7e]+/g;

/** Blanks, control bytes and what is not ASCII are encoded; everything else stays as it is written. */
function sendable(text: string): string {
  return text.replace(UNSAFE, (run) =>
    Buffer.from(run).reduce((out, byte) => `${out}%${byte.toString(16).toUpperCase().padStart(2, '0')}`, ''),
  );
}
