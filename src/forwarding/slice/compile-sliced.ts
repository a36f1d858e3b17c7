import type { ComplexValue } from '../../config/index.ts';
import type { Handler } from '../../http/index.ts';
import { StoredDelivery } from '../../cache/index.ts';
import type { ForwardingBuild } from '../forwarding-build.ts';
import type { ForwardingConfig } from '../config.ts';
import type { Provisioned } from '../connections.ts';
import type { ResponseProtocol } from '../protocol.ts';
import { ResponseDelivery } from '../response-delivery.ts';
import { type SliceRules, SlicedRequest } from './sliced-request.ts';

/** Tells whether a location requests pieces from its upstream: the Range of its requests is not just the client's. */
export function asksForPieces(range: ComplexValue | undefined, sliceBytes: number): boolean {
  const isComputed = range?.parts.some(
    (part) => typeof part !== 'string' && !('variable' in part && part.variable === 'http_range'),
  );
  return sliceBytes > 0 && isComputed === true;
}

/** A location whose responses are fetched in pieces. */
interface SlicedLocation {
  /** Fetches a piece, or takes it from a cache. */
  readonly handle: Handler;
  readonly config: ForwardingConfig;
  readonly protocol: ResponseProtocol;
  readonly provisioned: Provisioned;
}

/**
 * Compiles a location with `slice` (nginx ngx_http_slice_filter_module). Only GET and HEAD are served in pieces,
 * because a body would have to be sent with each piece.
 */
export function compileSliced(
  { handle, config, protocol, provisioned }: SlicedLocation,
  build: ForwardingBuild,
): Handler {
  const delivery = new ResponseDelivery(config, protocol, build);
  const stored = new StoredDelivery(
    delivery,
    { buffers: provisioned.buffers, forcesRanges: config.forceRanges },
    build,
  );
  const rules: SliceRules = { sizeBytes: build.core.sliceBytes, handle, stored };
  build.needHeader('range');
  build.needHeader('if-range');
  return (x) => {
    const { method, contentLength } = x.request;
    const hasPieces = x.main === x && contentLength === 0 && (method === 'GET' || method === 'HEAD');
    return hasPieces ? new SlicedRequest(x, rules).begin() : handle(x);
  };
}
