import { Exchange, type ResponseRules } from './exchange.ts';
import type { ResponseStream } from './response-stream.ts';
import type { Wire } from './wire.ts';

/** Gets the response to a request that has no client. The exchange has its head. */
interface ResponseReceiver {
  /** The response has this body. */
  whole(body: string | Uint8Array): void;
  /** The body follows in pieces; `undefined`: it is not needed. */
  opens(): ResponseStream | undefined;
  /** There is no response, or its rest is missing. */
  closes(): void;
}

/** The wire of a request without a client: without a receiver, its response goes nowhere. */
class NoWire implements Wire {
  readonly peerAddress: string;
  readonly peerPort: number;
  readonly requestLength: number;
  readonly sendsTrailers = false;
  readonly lingers = false;
  readonly tunnels = false;
  readonly #receiver: ResponseReceiver | undefined;

  constructor(origin: Exchange, receiver: ResponseReceiver | undefined) {
    this.#receiver = receiver;
    this.peerAddress = origin.remoteAddress;
    this.peerPort = origin.remotePort;
    this.requestLength = origin.wire.requestLength;
  }

  keepPeer(): void {
    // The address is a copy.
  }

  readBody(): void {
    // Never called: the request has no body.
  }

  write(body: string | Uint8Array): void {
    this.#receiver?.whole(body);
  }

  open(): ResponseStream | undefined {
    return this.#receiver?.opens();
  }

  tunnel(): void {
    // Nothing to switch.
  }

  close(): void {
    this.#receiver?.closes();
  }
}

interface Detaching {
  readonly receiver?: ResponseReceiver;
  /** What differs from the rules of the origin. */
  readonly rules?: Partial<ResponseRules>;
  /** Instead of the request headers of the origin: name, value, … */
  readonly headers?: readonly string[];
}

/**
 * Copies a request, without its body, for work that goes on after its response. The copy is in the same location, with the
 * same variables, captures and states of modules; it is not logged.
 */
export function detachedFrom(
  origin: Exchange,
  method: string,
  { receiver, rules: changed, headers = origin.request.headers }: Detaching = {},
): Exchange {
  origin.wire.keepPeer();
  const request = { ...origin.request, method, headers, contentLength: 0 };
  const rules = { ...origin.rules, logs: [], errorPages: undefined, ...changed };
  const x = new Exchange(request, { wire: new NoWire(origin, receiver), rules });
  x.uri = origin.uri;
  x.args = origin.args;
  x.isOriginalUri = origin.isOriginalUri;
  x.serverName = origin.serverName;
  x.slots = origin.slots && [...origin.slots];
  x.captures = origin.captures;
  x.internal = origin.internal;
  x.internalRedirects = origin.internalRedirects;
  x.copyStates(origin);
  return x;
}
