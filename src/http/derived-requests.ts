import { Exchange, type ResponseRules } from './exchange.ts';
import { shareRequestId } from './request-id.ts';
import type { ConnectionFacts, RequestFacts, SubrequestFacts } from './request.ts';
import type { ResponseStream } from './response-stream.ts';
import type { BodyReader, Wire } from './wire.ts';

/** The wire of a subrequest. It passes the response to the caller; its address is that of the parent request. */
class SubrequestWire implements Wire {
  readonly x: Exchange;
  readonly sendsTrailers = false;
  readonly lingers = false;
  readonly tunnels = (): boolean => false;
  readonly #parent: Exchange;
  readonly #keep: SubrequestFacts['keep'];
  readonly #finished: () => void;
  #isFinished = false;

  constructor(parent: Exchange, facts: SubrequestFacts, finished: () => void) {
    const { request, rules } = parent;
    // A named location sees the URI and arguments of the parent.
    const { uri, args = '' } = facts.uri.startsWith('@') ? parent : facts;
    const method = facts.method ?? 'GET';
    const contentLength = facts.body === 'parent' ? request.contentLength : 0;
    this.x = new Exchange({ ...request, method, uri, args, contentLength }, { wire: this, rules, parent });
    this.#parent = parent;
    this.#keep = facts.keep;
    this.#finished = finished;
  }

  get peerAddress(): string {
    return this.#parent.remoteAddress;
  }

  get peerPort(): number {
    return this.#parent.remotePort;
  }

  get requestLength(): number {
    return this.#parent.wire.requestLength;
  }

  keepPeer(): void {
    this.#parent.wire.keepPeer();
  }

  readBody(): void {
    // Never called: the exchange reads the body of its parent.
  }

  write(body: string | Uint8Array): void {
    if (this.#keep !== 'head' && body.length > 0) void this.#keep(Buffer.from(body as Uint8Array), this.x);
    this.#end();
  }

  open(): ResponseStream {
    const keep = this.#keep;
    let taken = Promise.resolve();
    return {
      write: (chunk) => {
        if (keep === 'head') return true;
        taken = keep(typeof chunk === 'string' ? Buffer.from(chunk) : chunk, this.x);
        return false;
      },
      drained: () => taken,
      end: () => this.#end(),
    };
  }

  tunnel(): void {
    // Subrequests have no connection to switch.
  }

  /** Also called when the client closes its connection after the subrequest has finished; nothing happens then. */
  close(): void {
    if (this.#isFinished) return;
    this.x.aborted = this.x.done = true;
    this.#end();
  }

  #end(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.x.finish();
    this.#finished();
  }
}

/**
 * Creates the exchange of a subrequest. It shares the headers, the address and the `set` variables of `parent`.
 * `finished` is called once, however the subrequest ends; the exchange then has the response except its body.
 */
export function subrequestOf(parent: Exchange, facts: SubrequestFacts, finished: () => void): Exchange {
  const { x } = new SubrequestWire(parent, facts, finished);
  x.serverName = parent.serverName;
  x.slots = parent.slots ??= [];
  x.captures = parent.captures;
  x.internal = true;
  x.isOriginalUri = false;
  parent.onAbort(() => x.abort());
  return x;
}

/** Gets the response to a request that has no client. The exchange has its head. */
interface ResponseReceiver {
  /** The response has this body. */
  whole(body: string | Uint8Array): void;
  /** The body follows in pieces; `undefined`: it is not needed. */
  opens(): ResponseStream | undefined;
  /** There is no response, or its rest is missing. */
  closes(): void;
}

/** The parts of a wire that describe the client. */
type Peer = Pick<Wire, 'peerAddress' | 'peerPort' | 'requestLength'>;

/** The wire of a request without a client: without a receiver, its response goes nowhere. */
class NoWire implements Wire {
  readonly peerAddress: string;
  readonly peerPort: number;
  readonly requestLength: number;
  readonly sendsTrailers = false;
  readonly lingers = false;
  readonly tunnels = (): boolean => false;
  readonly #receiver: ResponseReceiver | undefined;
  readonly #body: Buffer;

  constructor(peer: Peer, receiver: ResponseReceiver | undefined, body: Buffer) {
    this.#receiver = receiver;
    this.#body = body;
    this.peerAddress = peer.peerAddress;
    this.peerPort = peer.peerPort;
    this.requestLength = peer.requestLength;
  }

  keepPeer(): void {
    // The address is a copy.
  }

  readBody({ receive, settle, fail }: BodyReader): void {
    Promise.resolve(receive?.(this.#body)).then(() => settle(receive ? NOTHING : this.#body), fail);
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

const NOTHING = Buffer.alloc(0);

interface Detaching {
  readonly receiver?: ResponseReceiver;
  /** The rules that differ from those of the origin. */
  readonly rules?: Partial<ResponseRules>;
  /** Instead of the request headers of the origin: name, value, … */
  readonly headers?: readonly string[];
  /** Instead of the target of the origin. It must be one of the same location. */
  readonly target?: Pick<RequestFacts, 'requestUri' | 'uri' | 'args'>;
  /** The copy has this body; the origin's is not copied. */
  readonly body?: Buffer;
}

/**
 * Copies a request, without its body, for work that continues after its response or has a response of its own. The copy
 * is in the same location, with the same variables, captures and states of modules; it is not logged.
 */
export function detachedFrom(
  origin: Exchange,
  method: string,
  { receiver, rules: changed, headers = origin.request.headers, target, body = NOTHING }: Detaching = {},
): Exchange {
  origin.wire.keepPeer();
  const request = { ...origin.request, ...target, method, headers, contentLength: body.length };
  const rules = { ...origin.rules, logs: [], errorPages: undefined, ...changed };
  const { remoteAddress: peerAddress, remotePort: peerPort } = origin;
  const { requestLength } = origin.wire;
  const wire = new NoWire({ peerAddress, peerPort, requestLength }, receiver, body);
  const x = new Exchange(request, { wire, rules });
  const { uri, args } = target ?? origin;
  x.uri = uri;
  x.args = args;
  x.isOriginalUri = origin.isOriginalUri;
  x.serverName = origin.serverName;
  x.slots = origin.slots && [...origin.slots];
  x.captures = origin.captures;
  x.internal = origin.internal;
  x.internalRedirects = origin.internalRedirects;
  x.trace = origin.main.trace;
  x.copyStates(origin);
  shareRequestId(x, origin);
  return x;
}

/** A connection that has not sent a request yet. */
export interface NewConnection extends Pick<Wire, 'peerAddress' | 'peerPort'> {
  readonly port: RequestFacts['port'];
  readonly facts: ConnectionFacts;
}

/**
 * Creates an exchange for the request that a connection has not sent yet, so that variables can be evaluated in a TLS
 * handshake (nginx ngx_http_ssl_certificate). It has no response and is not logged.
 */
export function unsentRequest(
  { peerAddress, peerPort, port, facts }: NewConnection,
  rules: ResponseRules,
): Exchange {
  const request: RequestFacts = {
    ...UNSENT,
    port,
    connection: facts,
  };
  return new Exchange(request, {
    wire: new NoWire({ peerAddress, peerPort, requestLength: 0 }, undefined, NOTHING),
    rules: { ...rules, logs: [] },
  });
}

const UNSENT = {
  method: '',
  requestUri: '',
  uri: '',
  args: '',
  host: '',
  contentLength: 0,
  serial: 0,
  httpVersion: '1.0',
  headers: [],
} as const;
