import { Exchange } from './exchange.ts';
import type { ResponseStream } from './response-stream.ts';
import type { Wire } from './wire.ts';

/** The wire of a request without a client: its response goes nowhere. */
class NoWire implements Wire {
  readonly peerAddress: string;
  readonly peerPort: number;
  readonly requestLength: number;
  readonly sendsTrailers = false;
  readonly lingers = false;
  readonly tunnels = false;

  constructor(origin: Exchange) {
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

  write(): void {
    // Nobody reads it.
  }

  open(): ResponseStream | undefined {
    return undefined;
  }

  tunnel(): void {
    // Nothing to switch.
  }

  close(): void {
    // Nothing is open.
  }
}

/**
 * Copies a request, without its body, for work that goes on after its response. The copy is in the same location, with the
 * same variables, captures and states of modules; it is not logged.
 */
export function detachedFrom(origin: Exchange, method: string): Exchange {
  origin.wire.keepPeer();
  const request = { ...origin.request, method, contentLength: 0 };
  const rules = { ...origin.rules, logs: [], errorPages: undefined };
  const x = new Exchange(request, { wire: new NoWire(origin), rules });
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
