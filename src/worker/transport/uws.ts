import type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  us_socket_context_t,
} from 'uWebSockets.js';
import type { PortHandler } from '../../compile/index.ts';
import { isValidQuery, normalizePath } from '../../http/index.ts';
import type { RequestFacts } from '../../http/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import type { Connections } from '../../zone/index.ts';
import { HeadLines } from './head-lines.ts';
import { HeadScan, IN_HEADERS, IN_LINE } from './head-scan.ts';
import { SilenceWatch } from './silence-watch.ts';
import type { OpenPort, Transport } from './transport.ts';
import { UwsExchange } from './uws-exchange.ts';
import { loadUws } from './uws-loader.ts';
import type { Uws } from './uws-loader.ts';
import type { Handshake, SocketState, UwsPort } from './uws-request.ts';
import { relaying } from './websocket-relay.ts';
import type { Relayed, WebSocketRelay } from './websocket-relay.ts';

/** The uWebSockets.js transport. */
export class UwsTransport implements Transport {
  /** Loaded with the first socket: where it has no binary, that socket's failure says so. */
  private uws: Uws | undefined = undefined;
  private readonly silence = new SilenceWatch();
  private readonly log: ErrorLog;
  private readonly connections: Connections;
  private serial = 0;

  constructor(log: ErrorLog, connections: Connections) {
    this.log = log;
    this.connections = connections;
  }

  /** Opens the socket; fails when the address cannot be bound. */
  async open(port: PortHandler): Promise<OpenPort> {
    const uws = (this.uws ??= loadUws());
    const app = uws.App();
    const { connections, silence } = this;
    const relays = new Set<WebSocketRelay>();
    const socket: SocketState = { draining: false, silence, connections, relays, headLines: new HeadLines() };
    app.filter((_, opened) => this.countConnection(Number(opened) > 0));
    let current: UwsPort = { port, scan: new HeadScan(port), socket };
    app.any('/*', (res, req) => this.receive(res, req, current));
    app.ws<Relayed>('/*', {
      ...relaying(relays),
      upgrade: (res, req, context) =>
        this.receive(res, req, { ...current, handshake: handshakeOf(req, context) }),
    });
    return new Promise((resolve, reject) => {
      listen(app, port, (listening) => {
        if (!listening) return reject(new Error(`bind() to ${port.key} failed`));
        let accepting = true;
        resolve({
          key: port.key,
          drain: () => {
            socket.draining = true;
          },
          use: (next) => {
            current = { port: next, scan: new HeadScan(next), socket };
          },
          stopAccepting: () => {
            if (accepting) uws.us_listen_socket_close(listening);
            accepting = false;
          },
          close: () => {
            for (const relay of relays) relay.goAway();
            app.close();
          },
        });
      });
    });
  }

  private countConnection(isNew: boolean): void {
    const { accepted, handled, active } = this.connections;
    active.add(isNew ? 1 : -1);
    if (!isNew) return;
    accepted.add();
    handled.add();
  }

  /** One request, straight from uWebSockets.js. What escaped from here would end the thread, and other requests with it. */
  private receive(res: HttpResponse, req: HttpRequest, open: UwsPort): void {
    let x: UwsExchange | undefined;
    try {
      open.scan.start();
      req.forEach(open.scan.visit);
      const facts = this.factsOf(req, open);
      x = new UwsExchange(res, facts, open);
      this.admit(x, open, facts.refusal);
      x.leaveHandler();
    } catch (error) {
      this.log.write('error', `a request could not be taken: ${String(error)}`);
      if (x) return x.abort();
      // Without an abort handler closing ends the process.
      res.onAborted(() => undefined);
      res.close();
    }
  }

  private admit(x: UwsExchange, { port, scan }: UwsPort, refusal: number): void {
    if (refusal !== 0) {
      const { complaint } = scan;
      this.later(x, () => {
        x.serverName = port.serverName;
        x.rules.warn(complaint, x, 'info');
        x.end(refusal);
      });
    } else if (scan.contentLength < 0 || (!scan.hasLength && mayCarryBody(x.method))) {
      this.later(x, () => void port.serve(x));
    } else void port.serve(x);
  }

  /**
   * Answered inside the parser's callback, the bytes behind a refused head would be served as the next request; an answer
   * that is pending makes uWebSockets.js close the connection instead. The same for bodies without a plain length: chunk
   * sizes are read loosely, trailers taken for a request, and an empty header name can hide a length from us. So nothing
   * behind such a request is ever read.
   */
  private later(x: UwsExchange, answer: () => void): void {
    x.closing = true;
    x.detach();
    setImmediate(() => {
      try {
        if (!x.done) answer();
      } catch (error) {
        x.rules.warn(`a request could not be answered: ${String(error)}`, x);
        x.abort();
      }
    });
  }

  /** What the exchange needs to know, and the status that refuses the request (0: none). */
  private factsOf(req: HttpRequest, { port, scan }: UwsPort): RequestFacts & { readonly refusal: number } {
    const method = req.getCaseSensitiveMethod();
    const path = req.getUrl();
    // Typed as text, but undefined without a `?`.
    const query = req.getQuery() as string | undefined;
    const args = query ?? '';
    let refusal = scan.refusal(method);
    let uri: string | undefined = path;
    let host: string | undefined = '';
    if (refusal === 0) {
      uri = normalizePath(path, port.mergeSlashes);
      host = scan.hostName();
      const lineLength = path.length + args.length + method.length + 11;
      if (lineLength > port.head.lineBytes) refusal = scan.refuse(414, `client sent too long URI ${IN_LINE}`);
      else if (uri === undefined || !isValidQuery(args))
        refusal = scan.refuse(400, `client sent invalid request ${IN_LINE}`);
      else if (host === undefined)
        refusal = scan.refuse(400, `client sent invalid host header ${IN_HEADERS}`);
    }
    return {
      method,
      requestUri: query === undefined ? path : `${path}?${query}`,
      uri: uri ?? path,
      args,
      host: host ?? '',
      hostHeader: scan.host,
      referrer: scan.referrer,
      contentLength: scan.contentLength,
      serial: ++this.serial,
      httpVersion: '1.1',
      refusal,
    };
  }
}

function handshakeOf(req: HttpRequest, context: us_socket_context_t): Handshake {
  return { key: req.getHeader('sec-websocket-key'), context };
}

function mayCarryBody(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';
}

function listen(
  app: TemplatedApp,
  { address }: PortHandler,
  opened: (socket: us_listen_socket | false) => void,
): void {
  if (address.kind === 'unix') app.listen_unix(opened, address.path);
  else app.listen(address.host, address.port, opened);
}
