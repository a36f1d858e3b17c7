import { LRUCache } from 'lru-cache';
import { connect, isIP, type Socket, type SocketConnectOpts } from 'node:net';
import {
  checkServerIdentity,
  connect as connectTls,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { contextOptions, type ContextSettings, intermediatesOf, verifyError } from '../system/index.ts';
import { Inlet } from './socket-input.ts';
import { type Stage, systemFault, timedOut, UpstreamFault } from './fault.ts';

const STAGE = 'while SSL handshaking to upstream';

/**
 * Checks that the peer's certificate has a chain to a trusted one, that the chain is not too long, and that the name
 * matches (`proxy_ssl_verify`).
 */
function checkPeerCertificate(
  socket: TLSSocket,
  name: string,
  { verifyDepth }: { readonly verifyDepth: number },
): UpstreamFault | undefined {
  if (!socket.authorized) return verifyFault(String(socket.authorizationError));
  const certificate = socket.getPeerCertificate(true);
  if (intermediatesOf(certificate) > verifyDepth) return verifyFault('CERT_CHAIN_TOO_LONG');
  if (checkServerIdentity(name, certificate) === undefined) return undefined;
  return new UpstreamFault('error', `upstream SSL certificate does not match "${name}" ${STAGE}`);
}

function verifyFault(code: string): UpstreamFault {
  const { number, message } = verifyError(code);
  return new UpstreamFault('error', `upstream SSL certificate verify error: (${number}:${message}) ${STAGE}`);
}

/** Settings that all connections to the peers of one group share; plain data. */
export interface ConnectorSettings {
  readonly localAddress?: string;
  /** Only one connection to a peer can have it at a time. */
  readonly localPort?: number;
  readonly tcpKeepalive: boolean;
  readonly tls?: TlsSettings;
  /** The protocol that the TLS handshake announces (ALPN); default: HTTP/1.1. */
  readonly protocol?: 'h2';
}

/** `proxy_ssl_*`, with the contents of the files. */
export interface TlsSettings extends ContextSettings {
  readonly verify: boolean;
  readonly verifyDepth: number;
  readonly reuseSessions: boolean;
}

/** The destination of a connection. */
export interface Destination {
  /** `127.0.0.1:8080`, `[::1]:8080` or `unix:/path`. */
  readonly address: string;
  readonly timeoutMs: number;
  /** The name that the peer's certificate must have (`proxy_ssl_name`); used with TLS only. */
  readonly name: string;
  /** True if the name is sent in the handshake (`proxy_ssl_server_name`). */
  readonly sendsName: boolean;
}

/** The two outcomes of an attempt to connect; exactly one is called, once. */
export interface DialCallbacks {
  /** `inlet` receives the bytes of the socket; without it, they are read from the socket. */
  opened(socket: Socket, inlet: Inlet | undefined): void;
  refused(fault: UpstreamFault): void;
}

/** Maximum number of TLS sessions that are kept for the peers of one group. */
const MOST_SESSIONS = 100;
/** Bytes that may be buffered in a socket before `write` returns false. A TLS record has at most 16 KB. */
const WAITING_BYTES = 65_536;
const WAITING_TLS_BYTES = 16_384;
const KEEPALIVE_DELAY_MS = 60_000;

/** Opens connections to the peers of one group over TCP or Unix sockets, with TLS if configured. Resumes TLS sessions. */
export class Connector {
  readonly settings: ConnectorSettings;
  readonly #buffer: Buffer | undefined;
  readonly #sessions: LRUCache<string, Buffer> | undefined;
  #context: SecureContext | undefined = undefined;

  /** Sockets are read into `buffer` (see `readBuffer`); without it, they are read as any stream. */
  constructor(settings: ConnectorSettings, buffer?: Buffer) {
    const { tls } = settings;
    this.settings = settings;
    this.#buffer = buffer;
    // A resumed session does not show the certificate chain again, so it could not be verified.
    this.#sessions = tls?.reuseSessions && !tls.verify ? new LRUCache({ max: MOST_SESSIONS }) : undefined;
  }

  /** Opens a connection. Returns a function that cancels the attempt; after that, `dialled` is not called. */
  open(to: Destination, dialled: DialCallbacks): () => void {
    const { tls } = this.settings;
    const attempt = new Attempt(to, dialled, tls);
    try {
      if (tls) attempt.follow(this.#dialTls(to, tls));
      else this.#dial(to, attempt);
    } catch (error) {
      // For example a local address of the wrong family.
      queueMicrotask(() => attempt.fail(error as Error));
    }
    return () => attempt.cancel();
  }

  #dial({ address }: Destination, attempt: Attempt): void {
    const options = this.#optionsOf(address, WAITING_BYTES);
    if (!this.#buffer) return attempt.follow(connect(options));
    const inlet = new Inlet(this.#buffer);
    attempt.follow(connect({ ...options, onread: inlet.onread }), inlet);
  }

  #dialTls({ address, name, sendsName }: Destination, tls: TlsSettings): Socket {
    // Certificates are parsed once, not with each connection.
    this.#context ??= createSecureContext(contextOptions(tls));
    const sessions = this.#sessions;
    const servername = sendsName && isHostName(name) ? name : '';
    const key = `${address} ${servername}`;
    const session = sessions?.get(key);
    const socket = connectTls({
      ...this.#optionsOf(address, WAITING_TLS_BYTES),
      secureContext: this.#context,
      ALPNProtocols: [this.settings.protocol ?? 'http/1.1'],
      // The certificate is checked after the handshake, so that the log can say what is wrong with it.
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
      ...(servername !== '' && { servername }),
      ...(session && { session }),
    });
    if (sessions) socket.on('session', (begun: Buffer) => sessions.set(key, begun));
    return socket;
  }

  #optionsOf(address: string, highWaterMark: number): SocketConnectOpts & StreamOptions {
    const { tcpKeepalive, localAddress, localPort } = this.settings;
    if (address.startsWith('unix:')) return { path: address.slice(5), highWaterMark };
    const colon = address.lastIndexOf(':');
    const host = address.slice(0, colon);
    return {
      host: host.startsWith('[') ? host.slice(1, -1) : host,
      port: Number(address.slice(colon + 1)),
      highWaterMark,
      noDelay: true,
      keepAlive: tcpKeepalive,
      keepAliveInitialDelay: KEEPALIVE_DELAY_MS,
      localAddress,
      localPort,
    };
  }
}

/** Addresses are not sent as names (RFC 6066, 3; nginx). */
function isHostName(name: string): boolean {
  return isIP(name) === 0 && !name.startsWith('[');
}

/** Options of sockets that are missing in Node's types. */
interface StreamOptions {
  readonly highWaterMark: number;
}

function ignore(): void {}

/** One attempt to open a connection. */
class Attempt {
  readonly #dialled: DialCallbacks;
  readonly #tls: TlsSettings | undefined;
  readonly #name: string;
  readonly #timer: NodeJS.Timeout;
  #stage: Stage = 'connecting to upstream';
  #socket: Socket | undefined = undefined;
  #settled = false;

  constructor({ timeoutMs, name }: Destination, dialled: DialCallbacks, tls: TlsSettings | undefined) {
    this.#dialled = dialled;
    this.#tls = tls;
    this.#name = name;
    this.#timer = setTimeout(() => this.#refuse(timedOut(this.#stage)), timeoutMs);
  }

  follow(socket: Socket, inlet?: Inlet): void {
    this.#socket = socket;
    socket.on('error', this.fail);
    if (this.#tls) socket.once('connect', () => (this.#stage = 'SSL handshaking to upstream'));
    socket.once(this.#tls ? 'secureConnect' : 'connect', () => this.#succeed(socket, inlet));
  }

  readonly fail = (error: Error): void => this.#refuse(this.#faultOf(error));

  cancel(): void {
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#socket?.destroy();
  }

  #succeed(socket: Socket, inlet: Inlet | undefined): void {
    if (this.#settled) return;
    const fault = this.#tls?.verify
      ? checkPeerCertificate(socket as TLSSocket, this.#name, this.#tls)
      : undefined;
    if (fault) return this.#refuse(fault);
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#dialled.opened(socket, inlet);
    // The user of the connection handles errors from here on. An error between two uses would otherwise end the thread.
    socket.off('error', this.fail).on('error', ignore);
  }

  #refuse(fault: UpstreamFault): void {
    if (this.#settled) return;
    this.cancel();
    this.#dialled.refused(fault);
  }

  #faultOf(error: Error & { readonly code?: string }): UpstreamFault {
    if (this.#stage === 'connecting to upstream') return systemFault(error, this.#stage);
    if (error.code === 'ECONNRESET') {
      return new UpstreamFault('error', `peer closed connection in SSL handshake while ${this.#stage}`);
    }
    return new UpstreamFault(
      'error',
      `SSL_do_handshake() failed (SSL: ${error.message.trim()}) while ${this.#stage}`,
    );
  }
}
