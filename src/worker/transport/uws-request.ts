import type { HttpResponse, us_socket_context_t } from 'uWebSockets.js';
import type { PortHandler } from '../../compile/index.ts';
import type { RequestFacts } from '../../http/index.ts';
import type { Connections } from '../../zone/index.ts';
import { addressText } from './socket-address.ts';
import type { Admission } from './admission.ts';
import type { HeadLines } from './uws/head-lines.ts';
import type { HeadScan } from './head-scan.ts';
import { ReceivedRequest } from './received-request.ts';
import { RequestBody, type SilenceWatch } from './request-body.ts';
import type { WebSocketRelay } from './uws/websocket-relay.ts';

/** What the exchanges of one socket share, whatever configuration serves them. */
export interface SocketState {
  /** Clients that talk to an upstream by WebSocket. */
  readonly relays: Set<WebSocketRelay>;
  /** Every answer closes its connection. */
  draining: boolean;
  readonly silence: SilenceWatch;
  readonly connections: Connections;
  readonly admission: Admission;
  readonly headLines: HeadLines;
}

/** What an exchange takes from its port. */
export interface UwsPort {
  readonly port: PortHandler;
  readonly scan: HeadScan;
  readonly socket: SocketState;
  /** The request asks for a WebSocket. */
  readonly handshake?: Handshake;
}

/** What uWebSockets.js needs to answer a WebSocket handshake. */
export interface Handshake {
  readonly key: string;
  readonly context: us_socket_context_t;
}

/** The request half of an exchange on uWebSockets.js. */
export abstract class UwsRequest extends ReceivedRequest {
  readonly headers: readonly string[];
  readonly peerPort = 0;
  protected readonly res: HttpResponse;
  protected readonly body: RequestBody | undefined;
  private readonly headBytes: number;
  private peer: string | undefined = undefined;

  protected constructor(
    res: HttpResponse,
    request: RequestFacts,
    { port, scan, socket, handshake }: UwsPort,
  ) {
    super(request, port.facts, port.rules);
    this.res = res;
    // Frames are written anew for the upstream, without compression: it must not be offered one.
    this.headers = handshake ? withoutHeader(scan.headers, 'sec-websocket-extensions') : scan.headers;
    this.headBytes = scan.headBytes;
    this.body =
      request.contentLength === 0 ? undefined : new RequestBody(res, socket.silence, request.contentLength);
  }

  get peerAddress(): string {
    return (this.peer ??= this.readPeer());
  }

  /** Asking costs as much as the rest of a small request, and cannot be done once the answer is out. */
  override keepPeer(): void {
    this.peer ??= this.readPeer();
  }

  private readPeer(): string {
    try {
      const address = this.res.getRemoteAddress();
      // A client that has just reset its connection would pass for one of a Unix socket where addresses decide.
      if (address.byteLength === 0 && !this.port.address.startsWith('unix:')) this.abort();
      return addressText(address);
    } catch {
      // Gone with its connection.
      return '';
    }
  }

  get requestLength(): number {
    // The request line with method, target, protocol and its blanks, the headers, the empty line, the body.
    const line = this.requestMethod.length + this.requestUri.length + 12;
    return line + this.headBytes + 2 + (this.body?.receivedBytes ?? 0);
  }
}

function withoutHeader(headers: readonly string[], name: string): readonly string[] {
  return headers.filter((_, index) => headers[index - (index % 2)] !== name);
}
