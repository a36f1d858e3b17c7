import type { Socket } from 'node:net';
import { SilenceTimer } from '../../../client/index.ts';
import type { ConnectionFacts, PortFacts } from '../../../http/index.ts';
import type { HeadRules } from '../../../plan/index.ts';
import { flushAtEndOfTurn } from '../../../system/index.ts';
import { type Failing, guarded } from '../transport.ts';
import { headRulesOf } from '../head-scan.ts';
import type { NodePort } from './node-port.ts';

/** The content of one TLS record (RFC 8446, 5.1). */
const MAX_JOINED_BYTES = 16_384;

/** Bytes that a connection keeps for a slow client. What gives it more must wait. */
const MAX_UNSENT_BYTES = 65_536;

/** The known parts of a connection when it begins. */
export interface OpenedConnection {
  readonly socket: Socket;
  /** The plain socket under a TLS socket: its addresses are known already, and Node would ask the system again. */
  readonly plain?: Socket;
  readonly open: NodePort;
  readonly facts: Pick<ConnectionFacts, 'proxyProtocol' | 'tls'>;
}

/** The socket of a connection: its addresses, writing to it, and timeouts. */
export abstract class SocketConnection implements ConnectionFacts, Failing {
  readonly serial: number;
  readonly peerAddress: string;
  readonly peerPort: number;
  readonly port: PortFacts;
  readonly startedMs = Date.now();
  readonly proxyProtocol: ConnectionFacts['proxyProtocol'];
  readonly tls: ConnectionFacts['tls'];
  requests = 0;
  isPipelined = false;
  protected readonly socket: Socket;
  protected readonly open: NodePort;
  /** Serves all waits of the connection. */
  readonly #timer = new SilenceTimer(guarded(this, () => this.#afterWait()));
  #afterWait: () => void = () => undefined;
  #silenceMs = 0;
  /** The limit that begins if the client has not taken everything at the end of this turn; most clients do. */
  #nextSilenceMs: number | undefined = undefined;
  /** What is written at the end of this turn. */
  #unwritten: (string | Uint8Array)[] = [];
  #unwrittenBytes = 0;
  /** Called when a write to the socket has ended. */
  readonly #sent = guarded(this, (): void => {
    if (!this.isSending) this.#wakeWaiting();
  });
  #waiting: (() => void)[] = [];

  protected constructor({ socket, plain = socket, open, facts }: OpenedConnection) {
    this.socket = socket;
    this.open = open;
    this.serial = open.nextSerial();
    this.proxyProtocol = facts.proxyProtocol;
    this.tls = facts.tls;
    this.peerAddress = plainAddress(plain.remoteAddress);
    this.peerPort = plain.remotePort ?? 0;
    const { facts: shared } = open.current.port;
    const isPlain = shared.scheme === 'https' && !facts.tls;
    this.port = portFacts(isPlain ? { ...shared, scheme: 'http' } : shared, plain);
  }

  abstract fail(error: unknown): void;
  /** Called when the connection is closed. */
  protected abstract over(): void;

  cut(): void {
    this.flush();
    // Only plain TCP sockets can be reset.
    const canReset = this.peerPort !== 0 && this.tls === undefined;
    if (canReset && this.open.current.port.rules.connection.resetsTimedOut) this.socket.resetAndDestroy();
    else this.socket.destroy();
    this.over();
  }

  get facts(): ConnectionFacts {
    return this;
  }

  get isFull(): boolean {
    return this.socket.writableLength + this.#unwrittenBytes > MAX_UNSENT_BYTES;
  }

  /** True while the system or the TLS library has not taken all that was written. */
  protected get isSending(): boolean {
    return this.#unwrittenBytes > 0 || this.socket.writableLength > 0;
  }

  /** The rules for heads until a request has named its server. */
  protected get headRules(): HeadRules {
    return headRulesOf(this.open.current.port, this.tls?.serverName ?? '');
  }

  /** Writes at the end of this turn of the event loop, with all that is written until then. */
  write(...pieces: readonly (string | Uint8Array)[]): void {
    if (this.#unwritten.length === 0) flushAtEndOfTurn(this);
    for (const piece of pieces) {
      if (piece.length === 0) continue;
      this.#unwritten.push(piece);
      this.#unwrittenBytes += piece.length;
    }
    if (this.#unwrittenBytes > MAX_JOINED_BYTES) this.flush();
  }

  /** Writes what is due now. */
  readonly flush = guarded(this, (): void => this.#flush());

  /** Small pieces are joined: the system then gets one buffer, and TLS makes one record of it. */
  #flush(): void {
    const { socket } = this;
    const pieces = this.#unwritten;
    if (pieces.length === 0) return;
    this.#unwritten = [];
    this.#unwrittenBytes = 0;
    if (socket.destroyed || socket.writableEnded) return;
    const whole = pieces.length === 1 ? pieces[0] : joined(pieces);
    if (whole !== undefined) socket.write(whole, this.#sent);
    else {
      socket.cork();
      for (const piece of pieces) socket.write(piece, this.#sent);
      socket.uncork();
    }
    if (!this.isSending) this.#wakeWaiting();
    else if (this.#nextSilenceMs !== undefined) this.limitSilence(this.#nextSilenceMs);
  }

  flushed(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => this.whenSent(timeoutMs, resolve));
  }

  /**
   * Calls `then` when everything that was written is sent, or the connection is closed. A client that takes nothing for
   * `timeoutMs` is disconnected.
   */
  protected whenSent(timeoutMs: number, then: () => void): void {
    if (!this.isSending || this.socket.destroyed) return then();
    // Before it reports a timeout, Node checks whether bytes were sent meanwhile.
    if (this.#unwritten.length === 0) this.limitSilence(timeoutMs);
    else this.#nextSilenceMs = timeoutMs;
    this.#waiting.push(then);
  }

  #wakeWaiting(): void {
    if (this.#waiting.length > 0) for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Closes the connection when all is sent. */
  protected end(): void {
    this.flush();
    this.socket.destroySoon();
  }

  /** Sets the time after which Node reports a socket on which nothing moves; 0 for none. */
  protected limitSilence(ms: number): void {
    if (ms !== this.#silenceMs) this.socket.setTimeout(ms);
    this.#silenceMs = ms;
    this.#nextSilenceMs = undefined;
  }

  /** Calls `then` after a wait; ends the previous wait. */
  protected arm(ms: number, then: () => void): void {
    this.#afterWait = then;
    this.#timer.expect(ms);
  }

  protected disarm(): void {
    this.#timer.rest();
  }

  /** Stops the timer and resolves all pending promises. */
  protected release(): void {
    this.#timer.stop();
    this.#wakeWaiting();
  }
}

/**
 * Tells whether a TCP client has no address because it reset its connection. Its bytes can still be read, but access
 * rules by address would treat it as a client of a Unix socket.
 */
export function isNameless({ remoteAddress }: Socket, { current }: NodePort): boolean {
  return remoteAddress === undefined && current.port.address.kind !== 'unix';
}

/** Returns an address as nginx prints it: `unix:` for a Unix socket, IPv4 clients of an IPv6 socket as IPv4. */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return 'unix:';
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

/** Replaces a wildcard address by the local address of the connection. */
export function portFacts(facts: PortFacts, socket: Socket): PortFacts {
  if (facts.address !== '0.0.0.0' && facts.address !== '::') return facts;
  // Node asks the system for it.
  const { localAddress } = socket;
  return localAddress === undefined ? facts : { ...facts, address: plainAddress(localAddress) };
}

/** Returns pieces of few bytes as one; `undefined` if they are large, so that a copy would take longer than it saves. */
function joined(pieces: readonly (string | Uint8Array)[]): Buffer | undefined {
  let size = 0;
  for (const piece of pieces) size += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;
  if (size > MAX_JOINED_BYTES) return undefined;
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece === 'string') at += bytes.write(piece, at);
    else {
      bytes.set(piece, at);
      at += piece.length;
    }
  }
  return bytes;
}
