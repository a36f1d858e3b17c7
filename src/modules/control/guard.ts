import type { Handler, Exchange } from '../../http/index.ts';
import { DictionaryFault } from '../../zone/index.ts';
import type { Endpoint, Surface } from './endpoint.ts';
import { sendError } from './envelope.ts';
import { ControlFault } from './fault.ts';

/** An endpoint with what all of them have in common: methods, no caching, cross-site writes, faults as envelopes. */
export function guardEndpoint(endpoint: Endpoint, surface: Surface): Handler {
  const act = endpoint.compile(surface);
  const isForeign = endpoint.writes && !surface.config.crossSite ? compileForeign(surface) : () => false;
  return (x) => {
    if (x.method !== 'GET' && x.method !== 'HEAD') {
      x.setHeader('Allow', 'GET, HEAD');
      return refuse(x, 405, 'method not allowed');
    }
    if (isForeign(x)) return refuse(x, 403, 'cross-site request refused');
    x.setHeader('Cache-Control', 'no-store');
    try {
      return act(x)?.catch((error: unknown) => answerFault(x, error));
    } catch (error) {
      return answerFault(x, error);
    }
  };
}

/** An error envelope that no cache keeps. */
export function refuse(x: Exchange, status: number, message: string): void {
  x.setHeader('Cache-Control', 'no-store');
  sendError(x, status, message);
}

/** A page of another site can make a browser send any GET; browsers say so, and nothing else sends this header. */
function compileForeign({ build }: Surface): (x: Exchange) => boolean {
  build.needHeader('sec-fetch-site');
  return (x) => x.header('sec-fetch-site') === 'cross-site';
}

function answerFault(x: Exchange, error: unknown): void {
  if (error instanceof ControlFault) return sendError(x, error.status, error.message);
  if (!(error instanceof DictionaryFault)) throw error;
  // A full dictionary is a thing that is not right with the gateway, not with the request.
  if (error.refusal !== 'busy') return sendError(x, 200, `shared dict refused: ${error.message}`);
  x.setHeader('Retry-After', '1');
  return sendError(x, 503, 'shared dict is busy');
}
