import type { Socket } from 'node:net';
import type { Peer } from '../upstream/index.ts';
import { headEnd } from '../http1/index.ts';
import type { Inlet } from './inlet.ts';
import { type ResponseHead, readHead } from './response-head.ts';
import { type BodyReader, bodyReaderOf, CloseReader } from './body-reader.ts';
import {
  closedEarly,
  invalidResponse,
  type Stage,
  systemFault,
  timedOut,
  type UpstreamFault,
} from './fault.ts';

/** The user of a connection: sends a request and receives the response. The methods are called from the connection's events. */
export interface Caller {
  readonly method: string;
  readonly sendTimeoutMs: number;
  readonly readTimeoutMs: number;
  /** Maximum size of a response head (`proxy_buffer_size`). */
  readonly headLimitBytes: number;
  /** The request asks for another protocol; with a 101 the socket is handed over. */
  readonly upgrades: boolean;
  head(head: ResponseHead): void;
  piece(bytes: Buffer): void;
  /** The bytes that came with the head were passed on; the rest of the response follows. */
  follow(): void;
  /** The response is complete. When this returns, the connection may already carry the next request. */
  end(trailers: readonly string[] | undefined): void;
  /** There will be no (further) response; the connection is closed. */
  fault(fault: UpstreamFault): void;
  /** The data written so far has been sent; more of the body may be written. */
  drained(): void;
  /** The upstream has sent a 101: the socket now belongs to the caller, and `rest` followed the head. */
  switched(head: ResponseHead, socket: Socket, rest: Buffer): void;
}

/** The timeout for a silent peer. One timer serves all waits of a connection: to start or end a wait only moves a deadline. */
class SilenceTimer {
  readonly #broken: () => void;
  #deadlineMs = Infinity;
  #timer: NodeJS.Timeout | undefined = undefined;
  #firesAtMs = Infinity;

  /** `broken` is called when the peer was silent for too long. */
  constructor(broken: () => void) {
    this.#broken = broken;
  }

  /** Starts a wait of this many milliseconds; ends the previous one. */
  expect(ms: number): void {
    this.#deadlineMs = performance.now() + ms;
    if (this.#deadlineMs < this.#firesAtMs) this.#arm(ms);
  }

  /** Ends the wait. */
  rest(): void {
    this.#deadlineMs = Infinity;
  }

  /** Stops the timer for good. */
  stop(): void {
    this.#deadlineMs = this.#firesAtMs = Infinity;
    clearTimeout(this.#timer);
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer);
    this.#firesAtMs = performance.now() + ms;
    this.#timer = setTimeout(this.#fire, ms);
  }

  readonly #fire = (): void => {
    this.#firesAtMs = Infinity;
    if (this.#deadlineMs === Infinity) return;
    const leftMs = this.#deadlineMs - performance.now();
    if (leftMs > 0) return this.#arm(Math.ceil(leftMs));
    this.#deadlineMs = Infinity;
    this.#broken();
  };
}

/** Keeps connections between requests. */
export interface ConnectionOwner {
  /** The response is complete and the peer leaves the connection open. */
  idle(connection: Connection): void;
  gone(connection: Connection): void;
}

/** Maximum number of interim responses such as 103 to one request: each of them restarts `proxy_read_timeout`. */
const MAX_INTERIM_RESPONSES = 16;
const EMPTY = Buffer.alloc(0);
const READING = 'reading response header from upstream';

interface ConnectionParts {
  readonly peer: Peer;
  readonly name: string;
  readonly inlet: Inlet | undefined;
}

/** One connection to a peer. It carries one request at a time, as HTTP/1.0 or 1.1 as the caller writes it. */
export class Connection {
  /** Requests sent on it so far. */
  requests = 0;
  readonly openedMs = performance.now();
  readonly peer: Peer;
  /** The name that the peer's certificate was checked for; '' without TLS. */
  readonly name: string;
  /** Of the current request. */
  bytesSent = 0;
  bytesReceived = 0;
  readonly #socket: Socket;
  readonly #inlet: Inlet | undefined;
  readonly #owner: ConnectionOwner;
  #caller: Caller | undefined = undefined;
  #sent = false;
  /** The head waits in the corked socket. */
  #isHeld = false;
  #headReceived = false;
  #interims = 0;
  #pending: Buffer = EMPTY;
  #body: BodyReader | undefined = undefined;
  #head: ResponseHead | undefined = undefined;
  readonly #silence = new SilenceTimer(() => this.#fail(timedOut(this.#stage())));
  readonly #give = (piece: Buffer): void => this.#caller?.piece(piece);

  constructor(socket: Socket, { peer, name, inlet }: ConnectionParts, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#inlet = inlet;
    this.peer = peer;
    this.name = name;
    this.#owner = owner;
    if (inlet) inlet.open(this.#receive);
    else socket.on('data', this.#receive);
    socket.on('drain', this.#drain);
    socket.on('end', this.#ended);
    socket.on('error', this.#failed);
    socket.on('close', this.#ended);
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /**
   * Sends the head of a request, and its body if it is complete. Otherwise `write` and `finish` follow, and the head waits for the
   * first of them, or for `flush`: head and first piece are one packet.
   */
  begin(caller: Caller, head: string, body: Uint8Array | 'follows' | undefined): void {
    this.#caller = caller;
    this.requests++;
    this.bytesSent = head.length;
    this.bytesReceived = 0;
    this.#headReceived = false;
    this.#interims = 0;
    this.#head = undefined;
    this.#sent = body !== 'follows';
    if (body) {
      this.#isHeld = true;
      this.#socket.cork();
    }
    this.#socket.write(head, 'utf8');
    if (typeof body === 'object') this.write(body);
    if (this.#sent) this.#awaitResponse(caller);
  }

  /** Sends a piece of the body. False: wait for `drained`. */
  write(piece: Uint8Array): boolean {
    this.bytesSent += piece.byteLength;
    const isTaken = this.#socket.write(piece);
    this.flush();
    if (!isTaken && this.#caller) this.#silence.expect(this.#caller.sendTimeoutMs);
    return isTaken;
  }

  /** Sends the head if it still waits for the body. */
  flush(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#socket.uncork();
  }

  /** To be called when the body is complete. */
  finish(): void {
    this.flush();
    this.#sent = true;
    if (this.#caller) this.#awaitResponse(this.#caller);
  }

  #awaitResponse({ sendTimeoutMs, readTimeoutMs }: Caller): void {
    this.#silence.expect(this.#socket.writableLength > 0 ? sendTimeoutMs : readTimeoutMs);
  }

  /** Stops reading from the peer while the client is slow. The timeout is suspended. */
  pause(): void {
    this.#socket.pause();
    this.#silence.rest();
  }

  resume(): void {
    if (!this.#socket.isPaused()) return;
    this.#socket.resume();
    if (this.#caller) this.#silence.expect(this.#caller.readTimeoutMs);
  }

  /** Closes the connection; the caller is not called any more. */
  destroy(): void {
    this.#caller = undefined;
    this.#silence.stop();
    this.#socket.destroy();
  }

  /** Closes the connection if it is not used for this long. */
  waitIdle(timeoutMs: number): void {
    this.#silence.expect(timeoutMs);
  }

  readonly #receive = (bytes: Buffer): void => {
    const caller = this.#caller;
    // Bytes outside of any response: they would be taken for a part of the next one.
    if (!caller) return this.destroy();
    this.bytesReceived += bytes.length;
    try {
      if (this.#body) this.#readBody(bytes, 0);
      else this.#receiveHead(caller, bytes);
    } catch (error) {
      return this.#fail(error as UpstreamFault);
    }
    // Most responses are complete by now.
    if (this.#sent && this.#caller === caller && !this.#socket.isPaused())
      this.#silence.expect(caller.readTimeoutMs);
  };

  #receiveHead(caller: Caller, bytes: Buffer): void {
    const pending = this.#pending;
    if (pending.length === 0) this.#readHead(caller, bytes, 0);
    // The empty line may begin in the bytes that were searched before.
    else this.#readHead(caller, Buffer.concat([pending, bytes]), Math.max(0, pending.length - 2));
  }

  #readHead(caller: Caller, bytes: Buffer, from: number): void {
    const { headLimitBytes } = caller;
    const length = headEnd(bytes, from);
    if (length < 0 || length > headLimitBytes) {
      if (bytes.length >= headLimitBytes) throw invalidResponse('upstream sent too big header');
      this.#pending = bytes;
      return;
    }
    const head = readHead(bytes.toString('latin1', 0, length), caller);
    this.#pending = EMPTY;
    if (head.status < 200) return this.#readInterim(head, caller, bytes.subarray(length));
    this.#headReceived = true;
    this.#head = head;
    this.#body = bodyReaderOf(head);
    caller.head(head);
    if (this.#caller === caller) this.#readBody(bytes, length);
    if (this.#caller === caller) caller.follow();
  }

  /** Interim responses are not passed to the client (nginx); a 101 that was asked for ends HTTP on this connection. */
  #readInterim(head: ResponseHead, caller: Caller, rest: Buffer): void {
    if (head.status !== 101) {
      if (++this.#interims > MAX_INTERIM_RESPONSES)
        throw invalidResponse('upstream sent too many interim responses');
      if (rest.length > 0) this.#readHead(caller, rest, 0);
      return;
    }
    if (!caller.upgrades) throw invalidResponse('upstream sent unexpected status 101');
    this.#release();
    this.#owner.gone(this);
    caller.switched(head, this.#socket, rest);
  }

  #readBody(bytes: Buffer, from: number): void {
    const body = this.#body as BodyReader;
    const at = body.complete ? from : body.read(bytes, from, this.#give);
    if (body.broken) throw invalidResponse('upstream sent invalid chunked response', 'reading upstream');
    if (body.complete && this.#caller) this.#complete(body, at < bytes.length);
  }

  /** `hasMore`: bytes followed the response. */
  #complete(body: BodyReader, hasMore: boolean): void {
    const caller = this.#caller;
    const head = this.#head;
    this.#caller = undefined;
    this.#body = undefined;
    this.#silence.rest();
    if (this.#socket.isPaused()) this.#socket.resume();
    const isClean = !hasMore && this.#sent && this.#socket.writableLength === 0;
    if (head?.keepsAlive && isClean) this.#owner.idle(this);
    else this.#socket.destroy();
    caller?.end(body.trailers);
  }

  readonly #drain = (): void => {
    const caller = this.#caller;
    if (!caller) return;
    if (this.#sent) this.#silence.expect(caller.readTimeoutMs);
    else this.#silence.rest();
    caller.drained();
  };

  readonly #ended = (): void => {
    if (this.#body instanceof CloseReader && this.#caller) this.#complete(this.#body, true);
    else this.#fail(closedEarly(this.#headReceived ? 'reading upstream' : READING));
  };

  readonly #failed = (error: Error): void => this.#fail(systemFault(error, this.#stage()));

  #stage(): Stage {
    if (this.#headReceived) return 'reading upstream';
    return this.#sent ? READING : 'sending request to upstream';
  }

  /** Closes the connection because of a fault. */
  #fail(fault: UpstreamFault): void {
    const caller = this.#caller;
    this.#caller = undefined;
    this.#silence.stop();
    this.#owner.gone(this);
    this.#socket.destroy();
    caller?.fault(fault);
  }

  #release(): void {
    this.#caller = undefined;
    this.#silence.stop();
    this.#inlet?.passTo(this.#socket);
    this.#socket.off('data', this.#receive).off('drain', this.#drain).off('end', this.#ended);
    this.#socket.off('error', this.#failed).off('close', this.#ended);
  }
}
