import type { Socket } from 'node:net';
import type { Peer } from '../../../upstream/index.ts';
import { headEnd } from '../../../http1/index.ts';
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

/** Who sends a request over a connection and takes its answer. Each method is called from the connection's events. */
export interface Caller {
  readonly method: string;
  readonly sendTimeoutMs: number;
  readonly readTimeoutMs: number;
  /** `proxy_buffer_size`: the largest head. */
  readonly headLimitBytes: number;
  /** The request asks for another protocol: a 101 hands over the socket. */
  readonly upgrades: boolean;
  head(head: ResponseHead): void;
  piece(bytes: Buffer): void;
  /** The answer is complete; the connection may already carry the next request when this returns. */
  end(trailers: readonly string[] | undefined): void;
  /** No (more) answer comes; the connection is gone. */
  fault(fault: UpstreamFault): void;
  /** What was written has left: more of the body may follow. */
  drained(): void;
  /** A 101: the socket is the caller's, and `rest` came behind the head. */
  switched(head: ResponseHead, socket: Socket, rest: Buffer): void;
}

/** Longest silence of a peer. One timer serves all waits of a connection: starting and ending one only moves a deadline. */
class SilenceTimer {
  private readonly broken: () => void;
  private deadlineMs = Infinity;
  private timer: NodeJS.Timeout | undefined = undefined;
  private firesAtMs = Infinity;

  /** `broken` hears of a silence that was too long. */
  constructor(broken: () => void) {
    this.broken = broken;
  }

  /** Something came or went: from now on the peer has so long. */
  expect(ms: number): void {
    this.deadlineMs = performance.now() + ms;
    if (this.deadlineMs < this.firesAtMs) this.arm(ms);
  }

  /** Nobody waits. */
  rest(): void {
    this.deadlineMs = Infinity;
  }

  /** For good. */
  stop(): void {
    this.deadlineMs = this.firesAtMs = Infinity;
    clearTimeout(this.timer);
  }

  private arm(ms: number): void {
    clearTimeout(this.timer);
    this.firesAtMs = performance.now() + ms;
    this.timer = setTimeout(this.fire, ms);
  }

  private readonly fire = (): void => {
    this.firesAtMs = Infinity;
    if (this.deadlineMs === Infinity) return;
    const leftMs = this.deadlineMs - performance.now();
    if (leftMs > 0) return this.arm(Math.ceil(leftMs));
    this.deadlineMs = Infinity;
    this.broken();
  };
}

/** Who keeps connections between requests. */
export interface ConnectionOwner {
  /** The answer is complete and the peer leaves the connection open. */
  idle(connection: Connection): void;
  gone(connection: Connection): void;
}

/** Responses like 103 in front of a response: each of them starts `proxy_read_timeout` anew. */
const MAX_INTERIM_RESPONSES = 16;
const EMPTY = Buffer.alloc(0);
const READING = 'reading response header from upstream';

/** One connection to a peer: one request at a time, as HTTP/1.0 or 1.1 as its caller writes it. */
export class Connection {
  /** Requests begun so far. */
  requests = 0;
  readonly openedMs = performance.now();
  readonly peer: Peer;
  /** The name that the peer's certificate was asked for; '' without TLS. */
  readonly name: string;
  /** Of the current request. */
  bytesSent = 0;
  bytesReceived = 0;
  private readonly socket: Socket;
  private readonly owner: ConnectionOwner;
  private caller: Caller | undefined = undefined;
  private sent = false;
  private headReceived = false;
  private interims = 0;
  private pending: Buffer = EMPTY;
  private body: BodyReader | undefined = undefined;
  private head: ResponseHead | undefined = undefined;
  private readonly silence = new SilenceTimer(() => this.fail(timedOut(this.stage())));
  private readonly give = (piece: Buffer): void => this.caller?.piece(piece);

  constructor(
    socket: Socket,
    { peer, name }: { readonly peer: Peer; readonly name: string },
    keeper: ConnectionOwner,
  ) {
    this.socket = socket;
    this.peer = peer;
    this.name = name;
    this.owner = keeper;
    socket.on('data', this.receive);
    socket.on('drain', this.drain);
    socket.on('end', this.ended);
    socket.on('error', this.failed);
    socket.on('close', this.ended);
  }

  get isOpen(): boolean {
    return !this.socket.destroyed && this.socket.writable;
  }

  /** Sends a request's head, and its body where that is there already; else `write` and `finish` follow. */
  begin(caller: Caller, head: string, body: Uint8Array | 'follows' | undefined): void {
    this.caller = caller;
    this.requests++;
    this.bytesSent = head.length;
    this.bytesReceived = 0;
    this.headReceived = false;
    this.interims = 0;
    this.head = undefined;
    this.sent = body !== 'follows';
    if (typeof body === 'object') {
      this.socket.cork();
      this.socket.write(head, 'utf8');
      this.write(body);
      this.socket.uncork();
    } else this.socket.write(head, 'utf8');
    if (this.sent)
      this.silence.expect(this.socket.writableLength > 0 ? caller.sendTimeoutMs : caller.readTimeoutMs);
  }

  /** A piece of the body. False: wait for `drained`. */
  write(piece: Uint8Array): boolean {
    this.bytesSent += piece.byteLength;
    const isTaken = this.socket.write(piece);
    if (!isTaken && this.caller) this.silence.expect(this.caller.sendTimeoutMs);
    return isTaken;
  }

  /** The body is complete. */
  finish(): void {
    this.sent = true;
    if (this.caller) this.silence.expect(this.caller.readTimeoutMs);
  }

  /** The client takes no more for now: the peer is held back, and its silence does not count. */
  pause(): void {
    this.socket.pause();
    this.silence.rest();
  }

  resume(): void {
    if (!this.socket.isPaused()) return;
    this.socket.resume();
    if (this.caller) this.silence.expect(this.caller.readTimeoutMs);
  }

  /** Nobody waits for the answer any more. */
  destroy(): void {
    this.caller = undefined;
    this.silence.stop();
    this.socket.destroy();
  }

  /** Closes when nothing was asked of it for so long. */
  waitIdle(timeoutMs: number): void {
    this.silence.expect(timeoutMs);
  }

  private readonly receive = (bytes: Buffer): void => {
    const { caller } = this;
    // Bytes that nobody asked for: whatever they are, the next answer would be read wrong.
    if (!caller) return this.destroy();
    this.bytesReceived += bytes.length;
    if (this.sent) this.silence.expect(caller.readTimeoutMs);
    try {
      if (this.body) this.readBody(bytes, 0);
      else this.receiveHead(caller, bytes);
    } catch (error) {
      this.fail(error as UpstreamFault);
    }
  };

  private receiveHead(caller: Caller, bytes: Buffer): void {
    const { pending } = this;
    if (pending.length === 0) this.readHead(caller, bytes, 0);
    // The empty line may have begun with what was looked at before.
    else this.readHead(caller, Buffer.concat([pending, bytes]), Math.max(0, pending.length - 2));
  }

  private readHead(caller: Caller, bytes: Buffer, from: number): void {
    const { headLimitBytes } = caller;
    const length = headEnd(bytes, from);
    if (length < 0 || length > headLimitBytes) {
      if (bytes.length >= headLimitBytes) throw invalidResponse('upstream sent too big header');
      this.pending = bytes;
      return;
    }
    const head = readHead(bytes.toString('latin1', 0, length), caller);
    this.pending = EMPTY;
    if (head.status < 200) return this.readInterim(head, caller, bytes.subarray(length));
    this.headReceived = true;
    this.head = head;
    this.body = bodyReaderOf(head);
    caller.head(head);
    if (this.caller === caller) this.readBody(bytes, length);
  }

  /** 100, 103 and the like say nothing to the client (nginx); a 101 that was asked for ends HTTP. */
  private readInterim(head: ResponseHead, caller: Caller, rest: Buffer): void {
    if (head.status !== 101) {
      if (++this.interims > MAX_INTERIM_RESPONSES)
        throw invalidResponse('upstream sent too many interim responses');
      if (rest.length > 0) this.readHead(caller, rest, 0);
      return;
    }
    if (!caller.upgrades) throw invalidResponse('upstream sent unexpected status 101');
    this.release();
    this.owner.gone(this);
    caller.switched(head, this.socket, rest);
  }

  private readBody(bytes: Buffer, from: number): void {
    const body = this.body as BodyReader;
    const at = body.complete ? from : body.read(bytes, from, this.give);
    if (body.broken) throw invalidResponse('upstream sent invalid chunked response', 'reading upstream');
    if (body.complete && this.caller) this.complete(body, at < bytes.length);
  }

  /** `hasMore`: the peer sent more than its answer. */
  private complete(body: BodyReader, hasMore: boolean): void {
    const { caller, head } = this;
    this.caller = undefined;
    this.body = undefined;
    this.silence.rest();
    if (this.socket.isPaused()) this.socket.resume();
    const isClean = !hasMore && this.sent && this.socket.writableLength === 0;
    if (head?.keepsAlive && isClean) this.owner.idle(this);
    else this.socket.destroy();
    caller?.end(body.trailers);
  }

  private readonly drain = (): void => {
    const { caller } = this;
    if (!caller) return;
    if (this.sent) this.silence.expect(caller.readTimeoutMs);
    else this.silence.rest();
    caller.drained();
  };

  private readonly ended = (): void => {
    if (this.body instanceof CloseReader && this.caller) this.complete(this.body, true);
    else this.fail(closedEarly(this.headReceived ? 'reading upstream' : READING));
  };

  private readonly failed = (error: Error): void => this.fail(systemFault(error, this.stage()));

  private stage(): Stage {
    if (this.headReceived) return 'reading upstream';
    return this.sent ? READING : 'sending request to upstream';
  }

  /** The connection is of no use any more. */
  private fail(fault: UpstreamFault): void {
    const { caller } = this;
    this.caller = undefined;
    this.silence.stop();
    this.owner.gone(this);
    this.socket.destroy();
    caller?.fault(fault);
  }

  private release(): void {
    this.caller = undefined;
    this.silence.stop();
    this.socket.off('data', this.receive).off('drain', this.drain).off('end', this.ended);
    this.socket.off('error', this.failed).off('close', this.ended);
  }
}
