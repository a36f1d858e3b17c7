import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import type { PortHandler } from '../../compile/index.ts';
import { isValidQuery, normalizePath, parseHost } from '../../http/index.ts';
import { HeadScan } from './head-scan.ts';
import { UwsExchange } from './uws-exchange.ts';
import type { SocketState, UwsPort } from './uws-exchange.ts';
import { loadUws } from './uws-loader.ts';
import type { Uws } from './uws-loader.ts';

/** A port that is open in this worker; its handlers are exchanged on a reload, its socket is not. */
export interface OpenPort {
  readonly key: string;
  /** Lets every answer from now on close its connection. */
  drain(): void;
  /** Takes effect with the next request. */
  use(port: PortHandler): void;
  /** No new connections; those that are open go on. */
  stopAccepting(): void;
  /** Cuts what is left. */
  close(): void;
}

/** The uWebSockets.js transport. */
export class UwsTransport {
  private readonly uws: Uws = loadUws();
  private serial = 0;

  /** Opens the socket; fails when the address cannot be bound. */
  open(port: PortHandler): Promise<OpenPort> {
    const app = this.uws.App();
    const socket: SocketState = { draining: false };
    let current: UwsPort = { port, scan: new HeadScan(port.needs), socket };
    app.any('/*', (res, req) => this.receive(res, req, current));
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
            current = { port: next, scan: new HeadScan(next.needs), socket };
          },
          stopAccepting: () => {
            if (accepting) this.uws.us_listen_socket_close(listening);
            accepting = false;
          },
          close: () => app.close(),
        });
      });
    });
  }

  /** One request, straight from uWebSockets.js: admit it, or refuse it. Nothing may throw out of here. */
  private receive(res: HttpResponse, req: HttpRequest, open: UwsPort): void {
    const { port, scan } = open;
    scan.start();
    req.forEach(scan.visit);
    const method = req.getCaseSensitiveMethod();
    const path = req.getUrl();
    // Typed as text, but undefined without a `?`.
    const query = req.getQuery() as string | undefined;
    const args = query ?? '';
    let refusal = scan.refusal(method, port);
    let uri: string | undefined = path;
    let host: string | undefined = '';
    if (refusal === 0) {
      uri = normalizePath(path, port.mergeSlashes);
      host = parseHost(scan.host ?? '');
      if (path.length + args.length + method.length + 11 > port.headerLineBytes) refusal = 414;
      else if (uri === undefined || host === undefined || !isValidQuery(args)) refusal = 400;
    }
    const requestUri = query === undefined ? path : `${path}?${query}`;
    const x = new UwsExchange(
      res,
      {
        method,
        requestUri,
        uri: uri ?? path,
        args,
        host: host ?? '',
        contentLength: scan.contentLength,
        serial: ++this.serial,
      },
      open,
    );
    if (refusal !== 0) return refuse(x, refusal);
    if (scan.contentLength < 0 || (!scan.hasLength && mayCarryBody(method))) return serveAlone(x, port);
    void port.serve(x);
    if (!x.done) x.detach();
  }
}

/**
 * Answered inside the parser's callback, the bytes behind a refused head would be served as the next request; an answer
 * that is pending makes uWebSockets.js close the connection instead.
 */
function refuse(x: UwsExchange, status: number): void {
  x.closing = true;
  x.detach();
  setImmediate(() => x.end(status));
}

/**
 * uWebSockets.js reads chunk sizes loosely and takes trailers for a request, and an empty header name can hide a length
 * from us. So nothing behind such a request is ever read: answer later, then close.
 */
function serveAlone(x: UwsExchange, port: PortHandler): void {
  x.closing = true;
  x.detach();
  setImmediate(() => {
    if (!x.done) void port.serve(x);
  });
}

function mayCarryBody(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH' || method === 'DELETE';
}

function listen(
  app: TemplatedApp,
  { address }: PortHandler,
  opened: (socket: us_listen_socket | false) => void,
): void {
  if (address.kind === 'unix') app.listen_unix(opened, address.path);
  else app.listen(address.host, address.port, opened);
}
