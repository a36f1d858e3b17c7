import type { Build } from '../../contract/index.ts';
import {
  compileRead,
  compileReadGate,
  type Exchange,
  type Handler,
  SITE_HEADERS,
  writeRefusal,
} from '../../http/index.ts';
import { DictionaryFault } from '../../zone/index.ts';
import type { ControlConfig, ControlResources } from './resources.ts';

/** A fault that is sent to the client as an error envelope. */
export class ControlFault extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Parameters of a request by name, percent-decoded. `+` is not a blank; the last of repeated parameters is used. */
export type Query = ReadonlyMap<string, string>;

/** Parses a query. Throws a `ControlFault` (400) if it is not valid percent-encoded UTF-8. */
export function readQuery(args: string): Query {
  if (args === '') return new Map();
  try {
    return new Map(args.split('&').map(readPair));
  } catch {
    throw new ControlFault(400, 'the query is not valid percent-encoded UTF-8');
  }
}

function readPair(pair: string): readonly [string, string] {
  const equals = pair.indexOf('=');
  if (equals < 0) return [decodeURIComponent(pair), ''];
  return [decodeURIComponent(pair.slice(0, equals)), decodeURIComponent(pair.slice(equals + 1))];
}

/** Returns the value of a required parameter. Throws a `ControlFault` (400) if it is missing or empty. */
export function required(query: Query, name: string): string {
  const value = query.get(name);
  if (value === undefined || value === '')
    throw new ControlFault(400, `missing required query param: ${name}`);
  return value;
}

/** A flat JSON object with strings as values. */
export type Fields = Readonly<Record<string, string>>;

/** Sends the ok envelope. */
export function sendOk(x: Exchange, fields: Fields): void {
  x.send(200, 'application/json', JSON.stringify({ status: 'ok', ...fields }));
}

/** Sends the error envelope. Status 200 means that something does not exist, 4xx that the request is invalid. */
export function sendError(x: Exchange, status: number, message: string): void {
  x.send(status, 'application/json', JSON.stringify({ status: 'error', message }));
}

export function sendText(x: Exchange, text: string): void {
  x.send(200, 'text/plain; charset=utf-8', text);
}

/** One endpoint of the inventory. Methods, caching, cross-site writes and faults are handled around its handler. */
export interface Endpoint {
  /** The name in `control_api`. */
  readonly name: string;
  /** The path below a location that serves the whole inventory. */
  readonly path: string;
  /** A phrase for `describe`. */
  readonly description: string;
  /** The endpoint changes something: pages of other sites must not request it. */
  readonly writes?: true;
  /** The endpoint needs no guard: `gw check` accepts that everybody may request it. */
  readonly harmless?: true;
  /** Load balancers and orchestrators request the endpoint, with any host name. */
  readonly isProbe?: true;
  /** The configuration is refused if there is no dictionary for flags. */
  readonly needsFlags?: true;
  /** The endpoint shows the counts of requests by location, which are kept only then. */
  readonly showsRequestCounts?: true;
  /** The endpoint serves all paths below its own, and has its own methods, checks and faults. */
  readonly isTree?: true;
  /** Compiles the handler for GET and HEAD; it may throw a `ControlFault` or a `DictionaryFault`. */
  compile(surface: Surface): Handler;
}

/** The values that an endpoint is compiled with. */
export interface Surface {
  readonly config: ControlConfig;
  readonly resources: ControlResources;
  readonly build: Build;
}

/** Compiles an endpoint with the common parts: methods, no caching, cross-site writes, faults as envelopes. */
export function guardEndpoint(endpoint: Endpoint, surface: Surface): Handler {
  const act = endpoint.compile(surface);
  if (endpoint.isTree) return (x) => (x.response.setHeader('Cache-Control', 'no-store'), act(x));
  const serve: Handler = (x) => {
    x.response.setHeader('Cache-Control', 'no-store');
    try {
      return act(x)?.catch((error: unknown) => respondWithFault(x, error));
    } catch (error) {
      return respondWithFault(x, error);
    }
  };
  return compileRead(serve, {
    gate: surface.config.crossSite ? () => undefined : compileRefusal(endpoint, surface),
    forbid: (x, reason) => refuse(x, 403, reason),
    refuseMethod: (x) => refuse(x, 405, 'method not allowed'),
  });
}

/** Sends an error envelope that is not cached. */
export function refuse(x: Exchange, status: number, message: string): void {
  x.response.setHeader('Cache-Control', 'no-store');
  sendError(x, status, message);
}

/**
 * Compiles the test for cross-site requests: a page can make a browser send any GET, also to addresses that only the
 * browser can reach.
 */
function compileRefusal(
  { writes, isProbe }: Endpoint,
  { build, resources: { worker } }: Surface,
): (x: Exchange) => string | undefined {
  const knowsHost = (host: string): boolean => worker.view.knowsHost(host);
  if (!writes) return compileReadGate(build, knowsHost, isProbe ? { foreignNames: 'any' } : {});
  for (const name of SITE_HEADERS) build.needHeader(name);
  return (x) => writeRefusal(x, knowsHost);
}

function respondWithFault(x: Exchange, error: unknown): void {
  if (error instanceof ControlFault) return sendError(x, error.status, error.message);
  if (!(error instanceof DictionaryFault)) throw error;
  // A full dictionary is a fault of the gateway, not of the request.
  if (error.refusal !== 'busy') return sendError(x, 200, `shared dict refused: ${error.message}`);
  x.response.setHeader('Retry-After', '1');
  return sendError(x, 503, 'shared dict is busy');
}
