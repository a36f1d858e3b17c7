import type { Build } from '../../contract/index.ts';
import { type Exchange, type Handler, readRefusal, SITE_HEADERS, writeRefusal } from '../../http/index.ts';
import { DictionaryFault } from '../../zone/index.ts';
import type { ControlConfig, ControlResources } from './resources.ts';

/** A refusal that becomes an error envelope. */
export class ControlFault extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Parameters of a request by name, percent-decoded; `+` is no blank, and of a repeated one the last counts. */
export type Query = ReadonlyMap<string, string>;

/** Throws a `ControlFault` (400) for what is not valid percent-encoded UTF-8. */
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

/** The value of a parameter that must be there. Throws a `ControlFault` (400) when it is missing or empty. */
export function required(query: Query, name: string): string {
  const value = query.get(name);
  if (value === undefined || value === '')
    throw new ControlFault(400, `missing required query param: ${name}`);
  return value;
}

/** A flat JSON object: every value is a string. */
export type Fields = Readonly<Record<string, string>>;

/** The ok envelope. */
export function sendOk(x: Exchange, fields: Fields): void {
  x.send(200, 'application/json', JSON.stringify({ status: 'ok', ...fields }));
}

/** The error envelope. 200 tells of a thing that is not there, 4xx of a request that is wrong. */
export function sendError(x: Exchange, status: number, message: string): void {
  x.send(status, 'application/json', JSON.stringify({ status: 'error', message }));
}

export function sendText(x: Exchange, text: string): void {
  x.send(200, 'text/plain; charset=utf-8', text);
}

/** One row of the inventory. Methods, caching, cross-site writes and faults are decided around the handler. */
export interface Endpoint {
  /** As `control_api` takes it. */
  readonly name: string;
  /** Below the path of a location that serves the whole inventory. */
  readonly path: string;
  /** One phrase for `describe`. */
  readonly description: string;
  /** It changes something: only programs and pages of ours may ask for it. */
  readonly writes?: true;
  /** Anybody may ask: `gw check` does not want it guarded. */
  readonly harmless?: true;
  /** It fails the load when there is no dictionary for flags. */
  readonly needsFlags?: true;
  /** Requests are counted by location only where somebody can read them. */
  readonly showsRequestCounts?: true;
  /** The handler answers GET and HEAD; it may throw a `ControlFault` or a `DictionaryFault`. */
  compile(surface: Surface): Handler;
}

/** What an endpoint is compiled with. */
export interface Surface {
  readonly config: ControlConfig;
  readonly resources: ControlResources;
  readonly build: Build;
}

/** An endpoint with what all of them have in common: methods, no caching, cross-site writes, faults as envelopes. */
export function guardEndpoint(endpoint: Endpoint, surface: Surface): Handler {
  const act = endpoint.compile(surface);
  const refusalOf = surface.config.crossSite ? () => undefined : compileRefusal(endpoint, surface);
  return (x) => {
    if (x.method !== 'GET' && x.method !== 'HEAD') {
      x.response.setHeader('Allow', 'GET, HEAD');
      return refuse(x, 405, 'method not allowed');
    }
    const refusal = refusalOf(x);
    if (refusal !== undefined) return refuse(x, 403, refusal);
    x.response.setHeader('Cache-Control', 'no-store');
    try {
      return act(x)?.catch((error: unknown) => respondWithFault(x, error));
    } catch (error) {
      return respondWithFault(x, error);
    }
  };
}

/** An error envelope that no cache keeps. */
export function refuse(x: Exchange, status: number, message: string): void {
  x.response.setHeader('Cache-Control', 'no-store');
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

function respondWithFault(x: Exchange, error: unknown): void {
  if (error instanceof ControlFault) return sendError(x, error.status, error.message);
  if (!(error instanceof DictionaryFault)) throw error;
  // A full dictionary is a thing that is not right with the gateway, not with the request.
  if (error.refusal !== 'busy') return sendError(x, 200, `shared dict refused: ${error.message}`);
  x.response.setHeader('Retry-After', '1');
  return sendError(x, 503, 'shared dict is busy');
}
