import type { Build } from '../../../contract/index.ts';
import type { Handler } from '../../../http/index.ts';
import { StoredDelivery } from '../../../upstream-cache/index.ts';
import type { ProxyConfig } from '../config.ts';
import type { Provisioned } from '../provision.ts';
import { ResponseDelivery } from '../response-delivery.ts';
import { type SliceRules, SlicedRequest } from './sliced-request.ts';

/** Tells whether a location asks its upstream for pieces: the Range of its requests is made of more than the client's. */
export function asksForPieces({ sliceBytes, setHeaders = [] }: ProxyConfig): boolean {
  const range = setHeaders.find(({ name }) => name.toLowerCase() === 'range')?.value.parts ?? [];
  const isComputed = range.some(
    (part) => typeof part !== 'string' && !('variable' in part && part.variable === 'http_range'),
  );
  return sliceBytes > 0 && isComputed;
}

/**
 * Compiles a location with `slice` (nginx ngx_http_slice_filter_module): `handle` fetches a piece, or takes it from a cache. Only
 * GET and HEAD have pieces: a request with a body would be repeated.
 */
export function compileSliced(
  config: ProxyConfig,
  { handle, provisioned }: { readonly handle: Handler; readonly provisioned: Provisioned },
  build: Build,
): Handler {
  const delivery = new ResponseDelivery(config, build);
  const stored = new StoredDelivery(
    delivery,
    { buffers: provisioned.buffers, forcesRanges: config.forceRanges },
    build,
  );
  const rules: SliceRules = { sizeBytes: config.sliceBytes, handle, stored };
  build.needHeader('range');
  build.needHeader('if-range');
  return (x) => {
    const { method, contentLength } = x.request;
    const hasPieces = x.main === x && contentLength === 0 && (method === 'GET' || method === 'HEAD');
    return hasPieces ? new SlicedRequest(x, rules).begin() : handle(x);
  };
}
