import { readRefusal, SITE_HEADERS, writeRefusal } from '../../http/index.ts';
import type { Handler, Exchange } from '../../http/index.ts';
import { DictionaryFault } from '../../zone/index.ts';
import type { Endpoint, Surface } from './endpoint.ts';
import { sendError } from './envelope.ts';
import { ControlFault } from './fault.ts';

/** An endpoint with what all of them have in common: methods, no caching, cross-site writes, faults as envelopes. */
export function guardEndpoint(endpoint: Endpoint, surface: Surface): Handler {
  const act = endpoint.compile(surface);
  const refusalOf = surface.config.crossSite ? () => undefined : compileRefusal(endpoint, surface);
  return (x) => {
    if (x.method !== 'GET' && x.method !== 'HEAD') {
      x.setHeader('Allow', 'GET, HEAD');
      return refuse(x, 405, 'method not allowed');
    }
    const refusal = refusalOf(x);
    if (refusal !== undefined) return refuse(x, 403, refusal);
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

/** A page can have a browser send any GET, also to addresses that only the browser can reach. */
function compileRefusal(
  { writes }: Endpoint,
  { build, resources: { worker } }: Surface,
): (x: Exchange) => string | undefined {
  for (const name of SITE_HEADERS) build.needHeader(name);
  return writes ? (x) => writeRefusal(x, (host) => worker.view.knowsHost(host)) : readRefusal;
}

function answerFault(x: Exchange, error: unknown): void {
  if (error instanceof ControlFault) return sendError(x, error.status, error.message);
  if (!(error instanceof DictionaryFault)) throw error;
  // A full dictionary is a thing that is not right with the gateway, not with the request.
  if (error.refusal !== 'busy') return sendError(x, 200, `shared dict refused: ${error.message}`);
  x.setHeader('Retry-After', '1');
  return sendError(x, 503, 'shared dict is busy');
}
