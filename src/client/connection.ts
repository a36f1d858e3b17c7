import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { flushAtEndOfTurn } from '../system/index.ts';
import type { Peer } from '../upstream/index.ts';
import type { Carrier, HeadToSend } from './carrier.ts';
import { closedEarly, type Stage, systemFault, timedOut, type UpstreamFault } from './fault.ts';
import type { BodyFraming, Caller, ResponseReader, Switch } from './response-reader.ts';
import { type Inlet, SilenceTimer } from './socket-input.ts';

/** The owner of connections, which keeps them between requests. */
export interface ConnectionOwner {
  /** The response is complete and the peer leaves the connection open. */
  idle(connection: Connection): void;
  gone(connection: Connection): void;
}

const READING = 'reading response header from upstream';

/** An error as Node reports it for a connection that its peer has reset. */
const RESET = Object.assign(new Error('read ECONNRESET'), {
  code: 'ECONNRESET',
  errno: -constants.errno.ECONNRESET,
  syscall: 'read',
});

/**
 * Tells at its end whether a connection was reset. Node calls a reset an end if it sees it together with the last bytes;
 * but then the system has no peer for the socket any more. On a Unix socket, a reset loses nothing that was sent.
 */
function wasReset(socket: Socket): boolean {
  return socket.localAddress !== undefined && socket.remoteAddress === undefined;
}

interface ConnectionParts {
  readonly peer: Peer;
  readonly name: string;
  readonly inlet: Inlet | undefined;
  readonly reader: ResponseReader;
}

/** One connection to a peer. It carries one request at a time; its reader knows the protocol of the responses. */
export class Connection implements Carrier {
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
  readonly #reader: ResponseReader;
  #framing: BodyFraming | undefined = undefined;
  #sent = false;
  /** The head waits in the corked socket. */
  #isHeld = false;
  readonly #silence = new SilenceTimer(() => this.#fail(timedOut(this.#stage())));

  constructor(socket: Socket, { peer, name, inlet, reader }: ConnectionParts, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#inlet = inlet;
    this.#reader = reader;
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

  get isKept(): boolean {
    return this.requests > 0;
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  get isLost(): boolean {
    return !this.isOpen;
  }

  /** The head waits for the first piece of a body that follows, or for the end of this turn of the event loop. */
  begin(caller: Caller, request: HeadToSend, body: Uint8Array | 'follows' | undefined): void {
    const { head, framing } = request;
    const encoding = request.encoding ?? 'utf8';
    this.#reader.begin(caller);
    this.#framing = framing;
    this.requests++;
    this.bytesSent = Buffer.byteLength(head as string, encoding);
    this.bytesReceived = 0;
    this.#sent = body !== 'follows';
    this.#isHeld = true;
    this.#socket.cork();
    this.#socket.write(head, encoding);
    if (typeof body === 'object') {
      this.#put(body);
      this.#putEnd();
    }
    if (this.#sent) flushAtEndOfTurn(this);
  }

  write(piece: Uint8Array): boolean {
    const isTaken = this.#put(piece);
    this.flush();
    const { caller } = this.#reader;
    if (!isTaken && caller) this.#silence.expect(caller.sendTimeoutMs);
    return isTaken;
  }

  #put(piece: Uint8Array): boolean {
    const framing = this.#framing;
    if (!framing) {
      this.bytesSent += piece.byteLength;
      return this.#socket.write(piece);
    }
    let isTaken = true;
    // The size line, the bytes and the line end of a chunk are one packet.
    this.#socket.cork();
    for (const part of framing.frame(piece)) {
      this.bytesSent += part.byteLength;
      isTaken = this.#socket.write(part);
    }
    this.#socket.uncork();
    return isTaken;
  }

  #putEnd(): void {
    const end = this.#framing?.end;
    if (!end) return;
    this.bytesSent += end.byteLength;
    this.#socket.write(end);
  }

  flush(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#socket.uncork();
    const { caller } = this.#reader;
    if (this.#sent && caller) this.#awaitResponse(caller);
  }

  finish(rest?: Uint8Array): void {
    this.#socket.cork();
    if (rest) this.#put(rest);
    this.#putEnd();
    this.#socket.uncork();
    this.flush();
    this.#sent = true;
    const { caller } = this.#reader;
    if (caller) this.#awaitResponse(caller);
  }

  #awaitResponse({ sendTimeoutMs, readTimeoutMs }: Caller): void {
    this.#silence.expect(this.#socket.writableLength > 0 ? sendTimeoutMs : readTimeoutMs);
  }

  pause(): void {
    this.#socket.pause();
    this.#silence.rest();
  }

  resume(): void {
    if (!this.#socket.isPaused()) return;
    this.#socket.resume();
    const { caller } = this.#reader;
    if (caller) this.#silence.expect(caller.readTimeoutMs);
  }

  destroy(): void {
    this.#reader.caller = undefined;
    this.#silence.stop();
    this.#socket.destroy();
  }

  /** Closes the connection if it is not used for this long. */
  waitIdle(timeoutMs: number): void {
    this.#silence.expect(timeoutMs);
  }

  readonly #receive = (bytes: Buffer): void => {
    const { caller } = this.#reader;
    // Bytes outside of any response would be taken for a part of the next one.
    if (!caller) return this.destroy();
    this.bytesReceived += bytes.length;
    try {
      const outcome = this.#reader.read(bytes);
      if (outcome === 'complete') this.#complete();
      else if (outcome) this.#switch(outcome);
    } catch (error) {
      return this.#fail(error as UpstreamFault);
    }
    // Most responses are complete by now.
    if (this.#sent && this.#reader.caller === caller && !this.#socket.isPaused())
      this.#silence.expect(caller.readTimeoutMs);
  };

  #switch({ head, rest }: Switch): void {
    const { caller } = this.#reader;
    this.#release();
    this.#owner.gone(this);
    caller?.switched(head, this.#socket, rest);
  }

  #complete(): void {
    const reader = this.#reader;
    const { caller } = reader;
    // The request was given up while its response was read.
    if (!caller) return;
    reader.caller = undefined;
    this.#silence.rest();
    if (this.#socket.isPaused()) this.#socket.resume();
    if (reader.leavesOpen && this.#sent && this.#socket.writableLength === 0) this.#owner.idle(this);
    else this.#socket.destroy();
    caller.end(reader.trailers);
  }

  readonly #drain = (): void => {
    const { caller } = this.#reader;
    if (!caller) return;
    if (this.#sent) this.#silence.expect(caller.readTimeoutMs);
    else this.#silence.rest();
    caller.drained();
  };

  readonly #ended = (): void => {
    const reader = this.#reader;
    if (!reader.caller || !reader.endsHere())
      return this.#fail(closedEarly(reader.hasHead ? 'reading upstream' : READING));
    if (wasReset(this.#socket)) this.#fail(systemFault(RESET, 'reading upstream'));
    else this.#complete();
  };

  readonly #failed = (error: Error): void => this.#fail(systemFault(error, this.#stage()));

  #stage(): Stage {
    if (this.#reader.hasHead) return 'reading upstream';
    return this.#sent ? READING : 'sending request to upstream';
  }

  /** Closes the connection because of a fault. */
  #fail(fault: UpstreamFault): void {
    const { caller } = this.#reader;
    this.#reader.caller = undefined;
    this.#silence.stop();
    this.#owner.gone(this);
    this.#socket.destroy();
    caller?.fault(fault);
  }

  #release(): void {
    this.#reader.caller = undefined;
    this.#silence.stop();
    this.#inlet?.passTo(this.#socket);
    this.#socket.off('data', this.#receive).off('drain', this.#drain).off('end', this.#ended);
    this.#socket.off('error', this.#failed).off('close', this.#ended);
  }
}
