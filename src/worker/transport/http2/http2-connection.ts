import {
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import { END_STREAM, HTTP2_CODES, MOST_SENT_HEAD_BYTES } from '../../../http/index.ts';
import type { HeadLimits, Http2Rules } from '../../../plan/index.ts';
import { guarded } from '../transport.ts';
import { enterRefused } from '../head-scan.ts';
import { type OpenedConnection, SocketConnection } from '../node/socket-connection.ts';
import { RESET_OPTIONS, ResetLimit } from './reset-limit.ts';
import { type Reset, type StreamConnection, StreamWire } from './stream-wire.ts';
import { observe, type StreamObserver } from './stream-events.ts';
import { isFlood, Silence, WaitingBytes } from './traffic.ts';

const {
  COMPRESSION_ERROR,
  ENHANCE_YOUR_CALM,
  FLOW_CONTROL_ERROR,
  FRAME_SIZE_ERROR,
  INTERNAL_ERROR,
  NO_ERROR,
  PROTOCOL_ERROR,
  STREAM_CLOSED,
} = HTTP2_CODES;

/** The codes of HTTP/2 for the errors of nghttp2 (nghttp2.h, `nghttp2_error`). */
const CODES: ReadonlyMap<unknown, number> = new Map([
  [-505, PROTOCOL_ERROR],
  [-510, STREAM_CLOSED],
  [-522, FRAME_SIZE_ERROR],
  [-523, COMPRESSION_ERROR],
  [-524, FLOW_CONTROL_ERROR],
  [-531, PROTOCOL_ERROR],
  [-532, PROTOCOL_ERROR],
  [-904, ENHANCE_YOUR_CALM],
]);

/** The bytes that a client sends first on an HTTP/2 connection (RFC 9113, 3.4). */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
/** The window of a whole connection: the bytes of all its bodies that may be in transit or unread. */
const CONNECTION_WINDOW_BYTES = 1_048_576;
/** Megabytes that Node.js may hold for a connection: at most 64 KB per stream wait for its client. */
const SESSION_MEGABYTES = 32;
/** Sizes of frames that a server may admit (RFC 9113, 6.5.2). */
const LEAST_FRAME_BYTES = 16_384;
const MOST_FRAME_BYTES = 16_777_215;
/** Fields such as `:path`, which are no headers. */
const PSEUDO_FIELDS = 5;

/** The time for a disconnected client to read the reason. */
const GOAWAY_MS = 1_000;

/** Tells whether a client begins with HTTP/2; `undefined`: more bytes are needed. */
export function beginsHttp2(bytes: Buffer): boolean | undefined {
  const known = Math.min(bytes.length, PREFACE.length);
  if (!PREFACE.subarray(0, known).equals(bytes.subarray(0, known))) return false;
  return known === PREFACE.length ? true : undefined;
}

/** One HTTP/2 connection. Node.js reads its frames; each stream carries one request. */
export class Http2Connection extends SocketConnection implements StreamConnection, StreamObserver {
  readonly #session: ServerHttp2Session;
  /** The requests that are being served, each at its index. */
  readonly #wires: StreamWire[] = [];
  readonly #resets: ResetLimit;
  readonly #silence = new Silence();
  readonly waiting = new WaitingBytes();
  /** Bytes of the requests and responses that are finished. */
  #payloadBytes = 0;
  /** Streams that Node.js has not closed, those of finished requests included. */
  #openStreams = 0;
  /** The number of the last stream whose request is served. */
  #lastId = 0;
  /** The client has been told that it can make no more requests. */
  #isClosing = false;
  #isOver = false;

  constructor(opened: OpenedConnection, rules: Http2Rules) {
    super(opened);
    const { socket, open } = opened;
    const { headLimits } = open.current.port;
    this.#resets = new ResetLimit(rules.maxStreams);
    this.#session = performServerHandshake(socket, sessionOptions(rules, headLimits));
    tellErrors(this.#session);
    this.#session
      .on(
        'stream',
        guarded(this, (stream: ServerHttp2Stream, ...[, flags, fields]: [object, number, string[]]) =>
          this.#begin(stream, { flags, fields }),
        ),
      )
      .on(
        'error',
        guarded(this, (error: Error) => this.#fault(error)),
      )
      .on(
        'close',
        guarded(this, () => this.over()),
      );
    this.#session.setLocalWindowSize(Math.max(CONNECTION_WINDOW_BYTES, rules.windowBytes));
    // The engine's sockets may be half-closed, but an HTTP/2 client that ends its side has left.
    socket.on(
      'end',
      guarded(this, () => this.cut()),
    );
    open.watch.add(this);
    open.sessions.add(this);
    this.#wait(this.headRules.timeoutMs);
  }

  /** Called once per second. */
  readonly look = guarded(this, (nowMs: number): void => this.#look(nowMs));

  #look(nowMs: number): void {
    if (this.#session.destroyed) return;
    let payloadBytes = this.#payloadBytes;
    for (const wire of this.#wires) payloadBytes += payloadOf(wire);
    const { bytesRead: receivedBytes, bytesWritten: sentBytes } = this.socket;
    const traffic = { receivedBytes, sentBytes, payloadBytes };
    if (isFlood(traffic)) return this.#refuse('http2 flood detected');
    // An idle connection has a timeout of its own.
    const timeoutMs = this.#wires.length > 0 ? this.headRules.timeoutMs : Infinity;
    const verdict = this.#silence.verdict(traffic, nowMs, timeoutMs);
    if (verdict === 'ping') this.#session.ping(() => undefined);
    else if (verdict === 'dead') {
      this.#writeLog('client timed out (110: Connection timed out) while processing HTTP/2 connection');
      this.cut();
    }
  }

  finished(wire: StreamWire, reset: Reset): void {
    this.#forget(wire);
    this.#payloadBytes += payloadOf(wire);
    if (this.#isOver) return;
    if (reset !== 'no') this.#wasReset(reset);
    this.#rest();
  }

  /** Removes a request that is finished; the last one takes its index. */
  #forget(wire: StreamWire): void {
    const last = this.#wires.pop();
    if (!last || last === wire) return;
    last.index = wire.index;
    this.#wires[wire.index] = last;
  }

  /** Counts a request that the client has reset. */
  #wasReset(reset: Exclude<Reset, 'no'>): void {
    if (!this.#resets.admits(reset)) this.#refuse('client sent too many RST_STREAM frames');
  }

  /** Waits for the next request if no other is being served. */
  #rest(): void {
    const { keepalive, idleMs } = this.open.current.port.rules.connection;
    if (this.#isClosing || this.open.draining || !keepalive) this.#close();
    else if (this.#wires.length === 0) this.#wait(idleMs);
  }

  drain(): void {
    this.#close();
  }

  #refuse(complaint: string): void {
    this.#writeLog(`${complaint} while processing HTTP/2 connection`);
    this.#end(ENHANCE_YOUR_CALM);
  }

  fail(error: unknown): void {
    this.open.log.write('error', `a request could not be processed: ${String(error)}`);
    this.#end(INTERNAL_ERROR);
  }

  override cut(): void {
    this.#session.destroy();
    // The session would wait for a client that never reads.
    this.socket.destroy();
    this.over();
  }

  #begin(stream: ServerHttp2Stream, { flags, fields }: { flags: number; fields: readonly string[] }): void {
    const { open } = this;
    open.heartbeat.beat();
    this.#openStreams++;
    observe(stream, this);
    // The GOAWAY that is on its way says that this request is not processed; nghttp2 closes the stream when it is sent.
    if (this.#isClosing) return;
    this.#lastId = stream.id ?? this.#lastId;
    this.disarm();
    open.idle.delete(this);
    this.requests++;
    // The client has reset the stream in the same packet, so no response is needed.
    if (stream.aborted || stream.destroyed) {
      this.#wasReset('unanswered');
      return this.#rest();
    }
    const { port, http2Reader } = open.current;
    const isWhole = (flags & END_STREAM) !== 0;
    const head = http2Reader.read(fields, isWhole, this.tls?.serverName);
    const wire = new StreamWire({ stream, head, connection: this, open, index: this.#wires.length });
    this.#wires.push(wire);
    const { x } = wire;
    if (head.refusal === 0) void port.serve(x);
    else {
      enterRefused(x, port, head.complaint);
      wire.refuse(head.refusal);
    }
    const { maxRequests, lifeMs } = port.rules.connection;
    if (this.requests >= maxRequests || Date.now() - this.startedMs >= lifeMs) this.#close();
  }

  streamFinished(): void {
    // Such a stream has no request.
  }

  streamClosed(): void {
    this.#openStreams--;
    this.#endIfIdle();
  }

  /** Waits for a request. The connection counts as idle. */
  #wait(ms: number): void {
    this.open.idle.add(this);
    this.arm(ms, () => this.#close());
  }

  /**
   * Closes the connection after its last response. GOAWAY tells the client which requests are still served. The session's
   * own `close` is not used: it resets further streams when they begin, and nghttp2 closes the same ones when the GOAWAY is
   * sent. In Node.js 20.20 the two together damage the memory of the process, which then ends.
   */
  #close(): void {
    if (this.#session.destroyed) return;
    if (!this.#isClosing) {
      this.#isClosing = true;
      this.#session.goaway(NO_ERROR, this.#lastId);
    }
    this.#endIfIdle();
    // The client may never read the rest.
    if (this.#wires.length === 0) this.arm(this.open.current.port.rules.sendTimeoutMs, () => this.cut());
  }

  /** Ends a closing connection without streams, in a turn of its own. */
  #endIfIdle(): void {
    if (!this.#isClosing || this.#openStreams > 0) return;
    setImmediate(
      guarded(this, () => {
        if (this.#openStreams === 0 && !this.#session.destroyed) this.#session.destroy();
      }),
    );
  }

  /** Sends the client the reason (GOAWAY), and closes the connection with all its streams. */
  #end(code: number): void {
    if (this.#session.destroyed) return;
    this.#session.goaway(code);
    this.#session.destroy();
    this.arm(GOAWAY_MS, () => this.cut());
  }

  #fault({ message }: Error): void {
    this.#writeLog(`HTTP/2 connection failed (${message})`);
  }

  #writeLog(message: string): void {
    this.open.log.write('info', message, { client: this.peerAddress });
  }

  protected over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.open.idle.delete(this);
    this.open.watch.delete(this);
    this.open.sessions.delete(this);
    // A request that leaves is removed from the list.
    for (const wire of this.#wires.slice()) wire.leave();
    this.release();
  }
}

function sessionOptions(rules: Http2Rules, head: HeadLimits): ServerOptions {
  const listBytes = 2 * head.bytes;
  return {
    maxSessionMemory: SESSION_MEGABYTES,
    maxSendHeaderBlockLength: MOST_SENT_HEAD_BYTES,
    // Requests with more fields are reset; those with fewer get a response that names the fault.
    maxHeaderListPairs: 2 * head.maxHeaders + PSEUDO_FIELDS,
    ...RESET_OPTIONS,
    settings: {
      enableConnectProtocol: true,
      initialWindowSize: rules.windowBytes,
      maxConcurrentStreams: rules.maxStreams,
      maxHeaderListSize: listBytes,
      // Some clients send each head as one frame. More is not admitted: nghttp2 keeps a whole GOAWAY in memory.
      maxFrameSize: Math.min(Math.max(listBytes, LEAST_FRAME_BYTES), MOST_FRAME_BYTES),
    },
  };
}

/** Node.js would tell the client of INTERNAL_ERROR, whatever the error is. */
function tellErrors(session: ServerHttp2Session): void {
  const destroy = session.destroy.bind(session);
  session.destroy = (error?: Error & { readonly errno?: unknown }, code = CODES.get(error?.errno)) =>
    destroy(error, code);
}

function payloadOf({ requestLength, x }: StreamWire): number {
  return requestLength + x.bodyBytesSent;
}
