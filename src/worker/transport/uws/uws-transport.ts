import type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  us_socket_context_t,
} from 'uWebSockets.js';
import type { PortHandler } from '../../../compile/index.ts';
import {
  isValidQuery,
  normalizePath,
  type RequestFacts,
  splitTarget,
  statusOnWire,
} from '../../../http/index.ts';
import type { ErrorLog } from '../../../log/index.ts';
import type { Connections } from '../../../zone/index.ts';
import type { Admission } from '../admission.ts';
import { type Failing, guarded } from '../guarded.ts';
import { enterRefused, HeadScan, IN_HEADERS, IN_LINE } from '../head-scan.ts';
import { HttpDate } from '../http-date.ts';
import { SilenceWatch } from '../request-body.ts';
import { admitEverybody } from '../socket-address.ts';
import type { EngineParts, Heartbeat, Opening, OpenPort, Transport } from '../transport.ts';
import type { AcceptorClient } from './acceptor.ts';
import { HeadLines } from './head-lines.ts';
import { loadUws, type Uws } from './loader.ts';
import { SilentEnds } from './silent-ends.ts';
import { SpareResponse } from './spare-response.ts';
import { type Handshake, type SocketState, type UwsPort, UwsWire } from './uws-wire.ts';
import { type Relayed, relaying } from './websocket-behavior.ts';

const nothing = (): void => undefined;

/** The logged reason if uWebSockets.js has refused the bytes after a head by itself, without reporting why. */
const REFUSED_BODY = 'client sent invalid body, or more data than one request, closed by uWebSockets.js';

/** The two ends of a request that waits for the parser: its response, or a refusal by uWebSockets.js. */
interface Later {
  respond(): void;
  refuse(): void;
}

/** The uWebSockets.js transport. */
export class UwsTransport implements Transport, Failing {
  /** Loaded for the first socket, which fails to open if there is no binary. */
  #uws: Uws | undefined = undefined;
  readonly #silence = new SilenceWatch();
  readonly #log: ErrorLog;
  readonly #connections: Connections;
  readonly #admission: Admission;
  readonly #heartbeat: Heartbeat;
  readonly #silentEnds: SilentEnds;
  /** True while a connection is being refused: uWebSockets.js reports its end within `close`. */
  #refusing = false;
  #serial = 0;

  readonly #acceptor: AcceptorClient | undefined;

  constructor({ log, connections, admission, heartbeat, acceptor }: EngineParts) {
    this.#log = log;
    this.#connections = connections;
    this.#admission = admission;
    this.#heartbeat = heartbeat;
    this.#acceptor = acceptor;
    this.#silentEnds = new SilentEnds(log, connections);
  }

  async open(port: PortHandler, opening?: Opening): Promise<OpenPort> {
    const uws = (this.#uws ??= loadUws());
    // Removes the header with the name of uWebSockets.js from responses; there is no public way.
    (uws as Uws & { _cfg?: (option: string) => void })._cfg?.('silent');
    const app = uws.App();
    const socket = this.#stateOf(uws);
    let current: UwsPort = { port, scan: new HeadScan(port), socket };
    app.filter(
      guarded(this, (res, opened) => (Number(opened) > 0 ? this.#admit(res, current) : this.#left())),
    );
    app.any('/*', (res, req) => this.#receive(res, req, current));
    app.ws<Relayed>('/*', {
      // The filter is not called when a WebSocket closes.
      ...relaying(socket.relays, () => this.#admission.left()),
      upgrade: (res, req, context) =>
        this.#receive(res, req, { ...current, handshake: handshakeOf(req, context) }),
    });
    const stop = await (opening ? this.#takePart(app, port) : bind(uws, app, port));
    return {
      key: port.key,
      drain: () => {
        socket.draining = true;
      },
      use: (next) => {
        current = { port: next, scan: new HeadScan(next), socket };
      },
      ...endOf(app, stop, socket),
    };
  }

  #stateOf(uws: Uws): SocketState {
    return {
      draining: false,
      closed: false,
      silence: this.#silence,
      connections: this.#connections,
      heartbeat: this.#heartbeat,
      admission: this.#admission,
      relays: new Set(),
      headLines: new HeadLines(),
      date: new HttpDate(),
      spare: new SpareResponse(uws),
    };
  }

  /** Makes the acceptor send connections of this port to this thread. Returns the function that ends this. */
  async #takePart(app: TemplatedApp, { key }: PortHandler): Promise<() => Promise<void>> {
    const acceptor = this.#acceptor;
    if (!acceptor) throw new Error(`no thread accepts connections for ${key}`);
    await acceptor.attach(key, app);
    return () => acceptor.detach(key, app);
  }

  fail(error: unknown): void {
    this.#log.write('error', `a connection could not be accepted: ${String(error)}`);
  }

  #admit(res: HttpResponse, open: UwsPort): void {
    if (this.#admission.admit()) return this.#silentEnds.watch(res, open);
    this.#refusing = true;
    res.close();
    this.#refusing = false;
  }

  #left(): void {
    if (!this.#refusing) this.#admission.left();
  }

  /** Serves one request of uWebSockets.js. An exception that escaped would end the thread with all its requests. */
  #receive(res: HttpResponse, req: HttpRequest, open: UwsPort): void {
    let wire: UwsWire | undefined;
    // Without this handler, returning without a response ends the process; so would an interruption (0.1 microseconds).
    res.onAborted(nothing);
    this.#heartbeat.beat();
    try {
      open.scan.start();
      req.forEach(open.scan.visit);
      const facts = this.#factsOf(req, open);
      wire = new UwsWire(res, facts, open);
      this.#begin(wire, open, facts.refusal);
      wire.leaveHandler();
    } catch (error) {
      this.#log.write('error', `a request could not be processed: ${String(error)}`);
      if (wire) wire.x.abort();
      else res.close();
    }
  }

  #begin(wire: UwsWire, { port, scan }: UwsPort, refusal: number): void {
    const { x } = wire;
    if (refusal !== 0) {
      const { complaint } = scan;
      const enter = (): void => enterRefused(x, port, complaint);
      this.#respondLater(wire, {
        respond() {
          enter();
          x.end(refusal);
        },
        refuse() {
          enter();
          x.status = statusOnWire(refusal);
        },
      });
    } else if (scan.contentLength < 0 || (!scan.hasLength && mayCarryBody(x.method))) {
      this.#respondLater(wire, {
        respond: () => void port.serve(x),
        refuse() {
          enterRefused(x, port, REFUSED_BODY);
          x.status = 400;
        },
      });
    } else void port.serve(x);
  }

  /**
   * Responds after the parser's callback. If a refused request got its response inside it, the bytes after its head
   * would be served as the next request; while a response is pending, uWebSockets.js closes the connection instead. The
   * same holds for bodies without a plain length: chunk sizes are parsed loosely, trailers are read as a request, and
   * an empty header name can hide a length. So no byte after such a request is read. If the connection ends before the
   * response, uWebSockets.js has closed it, mostly with its own 400; the request is then logged as refused.
   */
  #respondLater(wire: UwsWire, { respond, refuse }: Later): void {
    const { x } = wire;
    x.closing = true;
    // The address is not available once the connection is closed.
    wire.keepPeer();
    wire.detach();
    wire.refuse = refuse;
    setImmediate(() => {
      wire.refuse = undefined;
      try {
        if (!x.done) respond();
      } catch (error) {
        x.writeLog(`a request could not be served: ${String(error)}`);
        x.abort();
      }
    });
  }

  /** Returns the request for the exchange, and the status that refuses it (0 if it is not refused). */
  #factsOf(
    req: HttpRequest,
    { port, scan, handshake }: UwsPort,
  ): RequestFacts & { readonly refusal: number } {
    const method = req.getCaseSensitiveMethod();
    const { requestUri, path, args } = readTarget(req);
    let refusal = scan.refusal(method);
    let uri: string | undefined = path;
    const host = scan.hostName();
    if (refusal === 0) {
      uri = normalizePath(path, port.head.mergeSlashes);
      const lineLength = requestUri.length + method.length + 11;
      if (lineLength > port.head.lineBytes) refusal = scan.refuse(414, `client sent too long URI ${IN_LINE}`);
      else if (uri === undefined || !isValidQuery(args))
        refusal = scan.refuse(400, `client sent invalid request ${IN_LINE}`);
      else if (host === undefined)
        refusal = scan.refuse(400, `client sent invalid host header ${IN_HEADERS}`);
    }
    return {
      method,
      requestUri,
      uri: uri ?? '',
      args,
      host: host ?? '',
      hostHeader: scan.host,
      referrer: scan.referrer,
      contentLength: scan.contentLength,
      serial: ++this.#serial,
      httpVersion: '1.1',
      port: port.facts,
      headers: handshake ? withoutHeader(scan.headers, 'sec-websocket-extensions') : scan.headers,
      connection: undefined,
      refusal,
    };
  }
}

/** Returns the target as received, and its parts. The engine has split it, but leaves a fragment in the parts. */
function readTarget(req: HttpRequest): { requestUri: string; path: string; args: string } {
  const path = req.getUrl();
  // Declared as a string, but undefined without a `?`.
  const args = req.getQuery() as string | undefined;
  const requestUri = args === undefined ? path : `${path}?${args}`;
  return requestUri.includes('#')
    ? { requestUri, ...splitTarget(requestUri) }
    : { requestUri, path, args: args ?? '' };
}

function handshakeOf(req: HttpRequest, context: us_socket_context_t): Handshake {
  return { key: req.getHeader('sec-websocket-key'), context };
}

/** Removes the WebSocket extensions: frames are re-encoded for the upstream without compression. */
function withoutHeader(headers: readonly string[], name: string): readonly string[] {
  return headers.filter((_, index) => headers[index - (index % 2)] !== name);
}

function mayCarryBody(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';
}

function endOf(
  app: TemplatedApp,
  stop: () => void | Promise<void>,
  socket: SocketState,
): Pick<OpenPort, 'stopAccepting' | 'close'> {
  let stopped: { readonly arrived: void | Promise<void> } | undefined;
  const stopAccepting = (): { readonly arrived: void | Promise<void> } => (stopped ??= { arrived: stop() });
  return {
    stopAccepting,
    async close() {
      const { arrived } = stopAccepting();
      for (const relay of socket.relays) relay.goAway();
      socket.closed = true;
      app.close();
      await socket.spare.close();
      if (!arrived) return;
      // Connections that the acceptor had already passed on may have arrived after the first close.
      await arrived;
      app.close();
    },
  };
}

/** Listens on a port. Returns the function that closes it. */
function bind(uws: Uws, app: TemplatedApp, { address, key }: PortHandler): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const opened = (socket: us_listen_socket | false): void => {
      if (!socket) return reject(new Error(`bind() to ${key} failed`));
      admitEverybody(address);
      resolve(() => uws.us_listen_socket_close(socket));
    };
    if (address.kind === 'unix') app.listen_unix(opened, address.path);
    else app.listen(address.host, address.port, opened);
  });
}
