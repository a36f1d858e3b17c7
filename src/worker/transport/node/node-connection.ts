import type { Duplex } from 'node:stream';
import type { ConnectionRules, ResponseRules } from '../../../http/index.ts';
import { guarded } from '../transport.ts';
import { enterRefused } from '../head-scan.ts';
import type { FinishedRequest, ExchangeConnection } from './node-port.ts';
import { type Head, HeadProgress } from './head-reader.ts';
import { NodeWire } from './node-wire.ts';
import { RequestSource } from './request-source.ts';
import { type OpenedConnection, SocketConnection } from './socket-connection.ts';

/** Bytes of pipelined requests that are buffered while a response is pending; beyond this the client is held back. */
const AHEAD_BYTES = 65_536;

/**
 * The event that a connection waits for. `body` lasts beyond a response that did not need the body. `lingering` drops
 * the bytes that the client sends after the last response, so that it can read the response.
 */
type Step = 'head' | 'body' | 'response' | 'lingering' | 'over';

/** One connection. It reads requests and sends their responses in order. */
export class NodeConnection extends SocketConnection implements ExchangeConnection {
  #step: Step = 'head';
  #pending: Buffer | undefined = undefined;
  readonly #seen = new HeadProgress();
  #source = new RequestSource(0, this);
  #wire: NodeWire | undefined = undefined;
  /** True inside `advance`, which need not be called again. */
  #advancing = false;
  #bodyHeld = false;
  #headBegun = false;
  /** The client has half-closed the connection. */
  #ended = false;
  #idleMs = 0;
  readonly #cutNow = (): void => this.cut();
  /** The listeners that are removed when the socket is handed over. */
  readonly #listeners = [
    ['data', guarded(this, (bytes: Buffer) => this.#receive(bytes))],
    ['end', guarded(this, () => this.#endOfInput())],
    ['timeout', guarded(this, () => this.#silent())],
    ['error', guarded(this, () => this.cut())],
    ['close', guarded(this, () => this.over())],
  ] as const;

  constructor(opened: OpenedConnection) {
    super(opened);
    const { socket, open } = opened;
    for (const [event, listener] of this.#listeners) socket.on(event, listener);
    this.arm(this.headRules.timeoutMs, this.#cutNow);
    open.idle.add(this);
    // The preface reader has paused the socket.
    socket.resume();
  }

  responded(wire: FinishedRequest): void {
    if (this.#step === 'over' || this.#wire !== wire) return;
    this.#wire = undefined;
    const { rules } = wire.x;
    if (wire.closes) this.#closeBehind(rules);
    else if (this.#pending && this.#step === 'response' && !this.isFull) this.#goOn(rules.connection);
    else this.whenSent(rules.sendTimeoutMs, () => this.#goOn(rules.connection));
  }

  handOver(): Duplex {
    this.flush();
    const { socket } = this;
    const pending = this.#pending;
    this.#wire = undefined;
    this.over();
    for (const [event, listener] of this.#listeners) socket.off(event, listener);
    this.limitSilence(0);
    socket.pause();
    if (pending) socket.unshift(pending);
    return socket;
  }

  /** Stops reading, so that the client must wait. */
  pause(): void {
    this.#bodyHeld = true;
    this.socket.pause();
  }

  resume(): void {
    this.#bodyHeld = false;
    this.socket.resume();
    this.#advanceSoon();
  }

  #receive(bytes: Buffer): void {
    this.open.heartbeat.beat();
    if (this.#step === 'lingering' || this.#step === 'over') return;
    this.#pending = this.#pending ? Buffer.concat([this.#pending, bytes]) : bytes;
    this.#advance();
  }

  /** Most clients wait for a response before they send more: then there is nothing to process. */
  #advanceSoon(): void {
    if (this.#advancing || !(this.#pending || this.#ended)) return;
    queueMicrotask(guarded(this, () => this.#advance()));
  }

  fail(error: unknown): void {
    this.open.log.write('error', `a request could not be processed: ${String(error)}`);
    this.#wire?.x.abort();
    this.cut();
  }

  /** Processes the pending bytes as far as possible. */
  #advance(): void {
    if (this.#advancing) return;
    this.#advancing = true;
    try {
      while (this.#takeHead() || this.#takeBody());
    } finally {
      this.#advancing = false;
    }
    if (this.#step === 'response' && (this.#pending?.length ?? 0) > AHEAD_BYTES) this.socket.pause();
  }

  /** Returns true if the head is complete and its request has begun. */
  #takeHead(): boolean {
    if (this.#step !== 'head' || !this.#pending) return false;
    const { reader } = this.open.current;
    const pending = this.#seen.withoutBlankLines(this.#pending);
    this.#pending = pending.length > 0 ? pending : undefined;
    if (this.#pending) this.open.idle.delete(this);
    const head = this.#pending && reader.read(pending, this.#seen, this.tls?.serverName);
    if (!head) {
      if (this.#ended) this.end();
      else if (!this.#headBegun && this.#pending)
        this.arm(this.headRules.timeoutMs, () => this.#timeOutHead());
      this.#beginHead(this.#pending !== undefined);
      return false;
    }
    this.#seen.reset();
    this.disarm();
    this.#beginHead(false);
    this.#consume(head.bytes);
    this.#begin(head);
    return true;
  }

  /** Counts the connection as reading while a head has begun and is not complete. */
  #beginHead(hasBegun: boolean): void {
    if (hasBegun !== this.#headBegun) this.open.connections.reading.add(hasBegun ? 1 : -1);
    this.#headBegun = hasBegun;
  }

  #begin(head: Head): void {
    const { open } = this;
    this.requests++;
    this.#bodyHeld = false;
    this.#source = new RequestSource(head.facts.contentLength, this);
    this.#step = this.#source.isComplete ? 'response' : 'body';
    const wire = new NodeWire({ head, source: this.#source, connection: this, open });
    this.#wire = wire;
    // The bytes after the head may already show that the body is invalid.
    if (head.refusal === 0) this.#takeBody();
    const { x } = wire;
    // The `error_page` of a broken body may still be in progress.
    if (x.done || this.#source.isBroken) return;
    if (head.refusal === 0) void open.current.port.serve(x);
    else {
      enterRefused(x, open.current.port, head.complaint);
      wire.refuse(head.refusal);
    }
  }

  /** Returns true if the body is complete. */
  #takeBody(): boolean {
    const source = this.#source;
    if (this.#step !== 'body' || !this.#pending || this.#bodyHeld) return false;
    this.#consume(source.take(this.#pending));
    if (source.isBroken && this.#wire) this.#refuseBroken(this.#wire);
    else if (source.isBroken) this.cut();
    if (!source.isComplete) return false;
    this.#step = 'response';
    if (!this.#wire) this.#idle();
    return true;
  }

  #refuseBroken(wire: NodeWire): void {
    const { x } = wire;
    if (x.serverName === '') this.open.current.port.enter(x);
    if (!x.done) x.writeLog('client sent invalid chunked body');
    wire.refuse(400);
  }

  #consume(bytes: number): void {
    const pending = this.#pending;
    this.#pending = pending && bytes < pending.length ? pending.subarray(bytes) : undefined;
  }

  /** Continues after a response: with the rest of the request's body, or the next request. */
  #goOn({ idleMs, lingering }: ConnectionRules): void {
    if (this.#step === 'over') return;
    this.#idleMs = idleMs;
    if (this.#step === 'response') this.#idle();
    else {
      this.limitSilence(lingering.silenceMs);
      this.arm(lingering.timeMs, this.#cutNow);
    }
    this.#advanceSoon();
  }

  #idle(): void {
    this.#step = 'head';
    this.isPipelined = this.#pending !== undefined;
    if (!this.#pending) this.open.idle.add(this);
    if (this.socket.isPaused()) this.socket.resume();
    if (this.#ended && !this.#pending) this.end();
    else this.arm(this.#idleMs, this.#cutNow);
  }

  /**
   * Closes the connection after the last response. If the client is still sending, the close is delayed so that it can
   * read the response.
   */
  #closeBehind(rules: ResponseRules): void {
    const { socket } = this;
    const { mode, timeMs, silenceMs } = rules.connection.lingering;
    const sendsMore = this.#pending !== undefined || !this.#source.isComplete;
    const lingers = !this.#ended && (mode === 'always' || (mode === 'on' && sendsMore));
    this.#pending = undefined;
    this.#step = 'lingering';
    this.limitSilence(lingers ? silenceMs : rules.sendTimeoutMs);
    if (!lingers) return this.end();
    this.flush();
    socket.resume();
    socket.end();
    this.arm(timeMs, this.#cutNow);
  }

  #endOfInput(): void {
    this.#ended = true;
    if (this.#step === 'lingering' || this.#step === 'head') this.end();
    else if (this.#step === 'body' || !this.#pending) {
      // As in nginx, the client has aborted its request.
      this.#wire?.leave();
      this.end();
    }
  }

  /** Nothing has moved for as long as it may while the client is sent bytes, or sends some that are dropped. */
  #silent(): void {
    const dropsBody = this.#step === 'body' && !this.#wire;
    if (this.isSending || dropsBody || this.#step === 'lingering') this.cut();
  }

  /** The head was not complete in time. As in nginx, 408 is logged and no response is sent. */
  #timeOutHead(): void {
    const { open } = this;
    const pending = this.#pending;
    if (pending) {
      const head = open.current.reader.unfinished(pending, this.#seen);
      new NodeWire({ head, source: new RequestSource(0, this), connection: this, open }).timeOut();
    }
    this.cut();
  }

  protected over(): void {
    if (this.#step === 'over') return;
    this.#step = 'over';
    this.open.idle.delete(this);
    this.#beginHead(false);
    this.#pending = undefined;
    this.#wire?.leave();
    this.release();
  }
}
