import type { HttpRequest, HttpResponse, us_socket_context_t } from 'uWebSockets.js';
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
import { enterRefused, IN_HEADERS, IN_LINE } from '../head-scan.ts';
import { type EngineParts, type Failing, guarded, type Heartbeat } from '../transport.ts';
import { ENGINE_LIMIT_MS, type UwsPort, UwsWire } from './uws-wire.ts';
import type { Handshake } from './websocket-opening.ts';

const nothing = (): void => undefined;

/** The logged reason if uWebSockets.js has refused the bytes after a head by itself, without reporting why. */
const REFUSED_BODY = 'client sent invalid body, or more data than one request, closed by uWebSockets.js';

/** How a request ends that waits for the parser: with its response, or with a refusal by uWebSockets.js. */
interface Later {
  respond(): void;
  refuse(): void;
}

/** An open socket. A reload replaces the port that it serves. */
export interface OpenSocket {
  port: UwsPort;
}

/** The functions that uWebSockets.js calls for connections and requests of a socket. */
interface Callbacks {
  /** Called with 1 when a connection has opened, and with -1 when it has closed. */
  readonly filter: (res: HttpResponse, opened: unknown) => void;
  readonly request: (res: HttpResponse, req: HttpRequest) => void;
  readonly upgrade: (res: HttpResponse, req: HttpRequest, context: us_socket_context_t) => void;
}

/** Receives the connections and requests of all sockets of uWebSockets.js in this thread. */
export class UwsReceiver implements Failing {
  readonly #log: ErrorLog;
  readonly #admission: Admission;
  readonly #heartbeat: Heartbeat;
  readonly #silentEnds: SilentEnds;
  /** True while a connection is being refused: `close` calls the handler of ended connections before it returns. */
  #refusing = false;
  #serial = 0;

  constructor({ log, connections, admission, heartbeat }: EngineParts) {
    this.#log = log;
    this.#admission = admission;
    this.#heartbeat = heartbeat;
    this.#silentEnds = new SilentEnds(log, connections);
  }

  callbacks(open: OpenSocket): Callbacks {
    return {
      filter: guarded(this, (res, opened) =>
        Number(opened) > 0 ? this.#admit(res, open.port) : this.#left(),
      ),
      request: (res, req) => this.#receive(res, req, open.port),
      upgrade: (res, req, context) =>
        this.#receive(res, req, { ...open.port, handshake: handshakeOf(req, context) }),
    };
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
    // Without this handler uWebSockets.js ends the process if the callback returns without a response. It comes first,
    // since the thread can be interrupted below.
    res.onAborted(nothing);
    this.#heartbeat.beat();
    try {
      open.scan.start();
      req.forEach(open.scan.visit);
      const facts = this.#factsOf(req, open);
      wire = new UwsWire(res, facts, open);
      // This is how uWebSockets.js recognizes "close". It would then close the connection right after a response, and
      // a client that is still sending its body could not read it.
      if (facts.contentLength > 0 && req.getHeader('connection').length === 5) wire.x.closing = true;
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
   * Responds after the parser's callback. If a refused request got its response within the callback, the bytes after
   * its head would be served as the next request. While a response is pending, uWebSockets.js closes the connection
   * instead. Requests with a body of unknown length are treated alike: chunk sizes are parsed loosely, trailers are
   * read as a request, and an empty header name can hide a length. So no byte after such a request is read. If the
   * connection ends before the response, uWebSockets.js has closed it, mostly with its own 400; the request is then
   * logged as refused.
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

const MESSAGES = {
  closed:
    'client connection ended before a request: the client left, or uWebSockets.js refused it with 400, 431 or 505',
  timeout: 'client timed out (110: Connection timed out) while waiting for request',
} as const;
const TOLD_ONCE =
  'a client connection ended before a request: uWebSockets.js does not tell what it refuses by itself; "error_log ... info" has the addresses, "http_engine node" reads and logs such requests';

/**
 * Counts and logs connections that ended before their first request. They include requests that uWebSockets.js has
 * refused by itself: it reports neither the refusal nor the bytes.
 */
class SilentEnds implements Failing {
  readonly #log: ErrorLog;
  readonly #connections: Connections;

  constructor(log: ErrorLog, connections: Connections) {
    this.#log = log;
    this.#connections = connections;
  }

  fail(error: unknown): void {
    this.#log.write('error', `the end of a connection could not be counted: ${String(error)}`);
  }

  /**
   * Watches a new connection. Its first request replaces the function for the end of the connection, so this one is
   * called only if there was no request.
   */
  watch(res: HttpResponse, { port, socket }: Pick<UwsPort, 'port' | 'socket'>): void {
    const client = socket.peer.newest;
    const openedMs = performance.now();
    const ended = (): void => {
      if (socket.closed) return;
      const end = performance.now() - openedMs < ENGINE_LIMIT_MS ? 'closed' : 'timeout';
      this.#log.write('info', MESSAGES[end], { client, server: port.serverName });
      if (this.#connections.endedUnread(end) && end === 'closed') this.#log.write('warn', TOLD_ONCE);
    };
    res.onAborted(guarded(this, ended));
  }
}
