import { Exchange } from './exchange.ts';
import type { SubrequestFacts } from './request-facts.ts';
import type { ResponseStream } from './response-stream.ts';
import type { Wire } from './wire.ts';

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
