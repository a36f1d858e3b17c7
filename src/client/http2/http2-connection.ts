import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { Socket } from 'node:net';
import { HTTP2_CODES, MOST_SENT_HEAD_BYTES, SINGLE_FIELDS } from '../../http/index.ts';
import type { KeepaliveConfig, Peer } from '../../upstream/index.ts';
import { closedEarly, type Stage, timedOut, UpstreamFault } from '../fault.ts';
import { SilenceTimer } from '../socket-input.ts';
import { RequestStream, type StreamOwner } from './request-stream.ts';
import { connectionFault, errorName } from './stream-head.ts';
import { UnreadableBytes } from './unreadable-bytes.ts';

/** Most streams of one connection, whatever its peer allows: they share its congestion window and its losses. */
const MOST_STREAMS = 250;
/** Most bytes of one response that wait for a slow client. */
const STREAM_WINDOW_BYTES = 262_144;
/** Node acknowledges what a connection receives at once, so this holds nothing in memory. */
const CONNECTION_WINDOW_BYTES = 4_194_304;
/** No `proxy_buffer_size` allows more; Node refuses larger heads before it keeps them. */
const MOST_HEAD_BYTES = 1_048_576;
const MOST_FIELDS = 1_000;
/** The memory of each stream is bounded already. */
const SESSION_MEGABYTES = 1_000;
/** Longest time to close a connection: a peer that does not read would keep it open forever. */
const CLOSE_MS = 1_000;

const unreadable = (stage: Stage): UpstreamFault =>
  new UpstreamFault('error', `upstream violated HTTP/2: it sent an unreadable frame while ${stage}`);

/** Returns fields in Node's form. Of fields that may occur only once the first is sent: two parsers could differ. */
function outgoing(fields: readonly string[]): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = Object.create(null) as OutgoingHttpHeaders;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] as string;
    const value = fields[index + 1] as string;
    const before = headers[name];
    if (before === undefined) headers[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else if (!SINGLE_FIELDS.has(name)) headers[name] = [String(before), value];
  }
  return headers;
}

/** Keeps shared connections. */
export interface ConnectionKeeper {
  readonly keepalive: KeepaliveConfig;
  /** The peer's settings have arrived: requests may begin. */
  ready(connection: Http2Connection): void;
  /** The peer has not sent its settings in time. A request has gone out nevertheless, and goes on. */
  late(connection: Http2Connection): void;
  /** No stream is left. */
  idle(connection: Http2Connection): void;
  /** The connection has ended. Before it was ready, the fault tells why. */
  gone(connection: Http2Connection, fault: UpstreamFault): void;
}

/** One connection to a peer that speaks HTTP/2: it carries many requests at once. */
export class Http2Connection implements StreamOwner {
  readonly peer: Peer;
  /** The name that the peer's certificate was checked for; '' without TLS. */
  readonly name: string;
  broken: ((stage: Stage) => UpstreamFault) | undefined = undefined;
  readonly #keeper: ConnectionKeeper;
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  #closing: NodeJS.Timeout | undefined = undefined;
  readonly #streams = new Set<RequestStream>();
  readonly #openedMs = performance.now();
  readonly #idle = new SilenceTimer(() => this.#expire());
  readonly #unreadable: UnreadableBytes;
  #requests = 0;
  #mostStreams = 0;
  #isRetired = false;
  hasSettings = false;

  constructor(
    socket: Socket,
    { peer, name }: { readonly peer: Peer; readonly name: string },
    keeper: ConnectionKeeper,
  ) {
    this.peer = peer;
    this.name = name;
    this.#keeper = keeper;
    this.#socket = socket;
    // Before Node's own listeners, which end the streams.
    socket.once('close', () => (this.broken ??= closedEarly));
    const session = connect('http://localhost', {
      createConnection: () => socket,
      maxSessionMemory: SESSION_MEGABYTES,
      maxSendHeaderBlockLength: MOST_SENT_HEAD_BYTES,
      maxHeaderListPairs: MOST_FIELDS,
      settings: {
        enablePush: false,
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxHeaderListSize: MOST_HEAD_BYTES,
      },
    });
    this.#session = session;
    session.once('connect', () => session.setLocalWindowSize(CONNECTION_WINDOW_BYTES));
    session.on('remoteSettings', ({ maxConcurrentStreams = Infinity }) => this.#allow(maxConcurrentStreams));
    session.on('goaway', (code: number, lastId: number) => this.#retire(code, lastId));
    session.on('error', (error: Error) => this.#break(error));
    session.on('close', () => this.#end());
    this.#unreadable = new UnreadableBytes(session, socket);
  }

  /** The number of streams that the peer allows. */
  get mostStreams(): number {
    return this.#mostStreams;
  }

  get isIdle(): boolean {
    return this.#streams.size === 0;
  }

  /** True if another request may begin. */
  get hasRoom(): boolean {
    return this.#streams.size < this.#mostStreams && !this.isWorn;
  }

  /** Accepts no further requests, and ends after its last one. */
  get isWorn(): boolean {
    const { requests, timeMs } = this.#keeper.keepalive;
    const { closed, destroyed } = this.#session;
    if (this.#isRetired || this.broken || closed || destroyed) return true;
    if (this.hasSettings && this.#mostStreams === 0) return true;
    return this.#requests >= requests || performance.now() - this.#openedMs >= timeMs;
  }

  /** Reserves room for one stream. Must be called only if there is room. */
  stream(): RequestStream {
    const stream = new RequestStream(this, this.isIdle && this.#requests > 0);
    this.#streams.add(stream);
    this.#requests++;
    this.#idle.rest();
    return stream;
  }

  request(fields: readonly string[], endsHere: boolean): ClientHttp2Stream {
    return this.#session.request(outgoing(fields), { endStream: endsHere });
  }

  released(stream: RequestStream): void {
    this.#streams.delete(stream);
    if (this.isIdle) this.#keeper.idle(this);
  }

  suspect(): void {
    this.#isRetired = true;
  }

  /** Called regularly. */
  look(): void {
    if (this.#session.destroyed || this.#session.connecting) return;
    this.#unreadable.look(() => {
      this.broken ??= unreadable;
      this.close();
    });
  }

  /** Closes the connection if it is not used for this long, or if the peer has not sent its settings by then. */
  waitIdle(timeoutMs: number): void {
    this.#idle.expect(timeoutMs);
  }

  /** Closes the connection, whatever it carries. */
  close(): void {
    this.broken ??= closedEarly;
    this.#idle.stop();
    this.#session.destroy();
    this.#closing ??= setTimeout(() => this.#socket.destroy(), CLOSE_MS);
  }

  #expire(): void {
    if (!this.hasSettings && !this.isIdle) return this.#keeper.late(this);
    if (!this.hasSettings) this.broken ??= timedOut;
    this.close();
  }

  #allow(mostStreams: number): void {
    this.#mostStreams = Math.min(mostStreams, MOST_STREAMS);
    if (this.hasSettings) return;
    this.hasSettings = true;
    this.#idle.rest();
    this.#keeper.ready(this);
  }

  #retire(code: number, lastId: number): void {
    this.#isRetired = true;
    for (const stream of this.#streams) stream.refuseAbove(lastId);
    if (code !== HTTP2_CODES.NO_ERROR) {
      const message = `upstream sent goaway with error ${errorName(code)}`;
      this.broken = (stage) => new UpstreamFault('error', `${message} while ${stage}`);
    }
    if (this.isIdle) this.#keeper.idle(this);
  }

  #break(error: Error): void {
    if (this.broken && this.broken !== closedEarly) return;
    this.broken = (stage) => connectionFault(error, stage);
  }

  #end(): void {
    this.#idle.stop();
    clearTimeout(this.#closing);
    this.#keeper.gone(this, (this.broken ?? closedEarly)('connecting to upstream'));
  }
}
