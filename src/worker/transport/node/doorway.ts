import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { PortTls, TlsTarget } from '../../../compile/index.ts';
import type { ProxyProtocolFacts } from '../../../http/index.ts';
import { guarded } from '../guarded.ts';
import type { Failing } from '../guarded.ts';
import { isTls, readClientHello } from './client-hello.ts';
import type { ClientHello } from './client-hello.ts';
import { NodeConnection } from './node-connection.ts';
import type { NodePort } from './node-port.ts';
import { readProxyPrefix } from './proxy-protocol.ts';
import { isNameless } from './socket-line.ts';
import { SocketTlsFacts } from './tls-facts.ts';

/** An alert record of TLS 1.2: fatal, unrecognized name (RFC 6066, 3). */
const UNRECOGNIZED_NAME = Buffer.from([21, 3, 3, 0, 2, 2, 112]);

const NO_HELLO: ClientHello = { serverName: '', ciphers: [], curves: [] };

/**
 * Looks at the first bytes of a connection before HTTP begins: the header of the PROXY protocol, then whether it speaks TLS,
 * and for which server. What is not taken here is given back to the socket.
 */
export class Doorway implements Failing {
  private readonly socket: Socket;
  private readonly open: NodePort;
  private bytes: Buffer = Buffer.alloc(0);
  /** Before so many have come there is nothing new to see. */
  private wantedBytes = 0;
  private proxyProtocol: ProxyProtocolFacts | undefined = undefined;
  private readonly timer: NodeJS.Timeout;
  private readonly receive = guarded(this, (bytes: Buffer) => {
    this.open.heartbeat.beat();
    this.open.idle.delete(this);
    this.bytes = Buffer.concat([this.bytes, bytes]);
    this.look();
  });
  private readonly leave = guarded(this, () => this.cut());

  constructor(socket: Socket, open: NodePort) {
    this.socket = socket;
    this.open = open;
    this.timer = setTimeout(this.leave, open.current.port.head.timeoutMs);
    socket.on('data', this.receive);
    for (const event of ['end', 'error', 'close']) socket.on(event, this.leave);
    open.idle.add(this);
  }

  fail(error: unknown): void {
    this.open.log.write('error', `a connection could not be taken: ${String(error)}`);
    this.cut();
  }

  private look(): void {
    const { port } = this.open.current;
    if (port.proxyProtocol && !this.proxyProtocol && !this.takeProxyPrefix()) return;
    if (port.tls && this.bytes.length === 0) return;
    // A plain request is answered in plain: 497.
    if (!port.tls || !isTls(this.bytes)) return this.pass();
    if (this.bytes.length < this.wantedBytes) return;
    const hello = readClientHello(this.bytes);
    if (typeof hello === 'number') this.wantedBytes = hello;
    else this.shakeHands(hello === 'unreadable' ? NO_HELLO : hello);
  }

  /** True once it is there. */
  private takeProxyPrefix(): boolean {
    const prefix = readProxyPrefix(this.bytes);
    if (prefix === 'incomplete') return false;
    if (prefix === 'broken') {
      const shown = this.bytes.toString('latin1', 0, 32);
      this.open.log.write('error', `broken header: "${shown}" while reading PROXY protocol`, {
        client: this.socket.remoteAddress ?? '',
      });
      this.cut();
      return false;
    }
    this.proxyProtocol = prefix.facts;
    this.bytes = this.bytes.subarray(prefix.bytes);
    return true;
  }

  private pass(): void {
    const { open, proxyProtocol } = this;
    const socket = this.release();
    // eslint-disable-next-line no-new -- it lives as long as its socket
    new NodeConnection({ socket, open, facts: { proxyProtocol, tls: undefined } });
  }

  private shakeHands(hello: ClientHello): void {
    const { open, proxyProtocol } = this;
    const { tls, head } = open.current.port;
    if (!tls) return this.cut();
    const target = this.choose(tls, hello);
    if (!target) return this.cut();
    if (target.plan.rejectHandshake) {
      const refused = this.release();
      refused.end(UNRECOGNIZED_NAME, () => refused.destroy());
      return undefined;
    }
    const socket = this.release();
    const done = (secure: TLSSocket): void => {
      if (isNameless(secure, open)) return void secure.destroy();
      const facts = new SocketTlsFacts(secure, hello, target);
      // eslint-disable-next-line no-new -- it lives as long as its socket
      new NodeConnection({ socket: secure, open, facts: { proxyProtocol, tls: facts } });
    };
    const failed = (error: Error): void => {
      const client = socket.remoteAddress ?? '';
      open.log.write('info', `SSL_do_handshake() failed (SSL: ${error.message}) while SSL handshaking`, {
        client,
      });
      socket.destroy();
    };
    return open.tlsServers.begin(target.plan, socket, {
      handshake: { done: guarded(this, done), failed: guarded(this, failed) },
      ticketKey: tls.ticketKey,
      timeoutMs: head.timeoutMs,
    });
  }

  /** By the name; `undefined` when the pattern of a server name took too long over it. */
  private choose(tls: PortTls, { serverName }: ClientHello): TlsTarget | undefined {
    try {
      return tls.choose(serverName.toLowerCase());
    } catch (error) {
      const client = this.socket.remoteAddress ?? '';
      this.open.log.write('error', `${(error as Error).message} while SSL handshaking`, { client });
      return undefined;
    }
  }

  /** The socket as if nobody had read of it. */
  private release(): Socket {
    const { socket } = this;
    clearTimeout(this.timer);
    socket.off('data', this.receive);
    for (const event of ['end', 'error', 'close']) socket.off(event, this.leave);
    // Node tells of errors that nobody hears by ending the thread.
    socket.on('error', () => undefined);
    socket.pause();
    if (this.bytes.length > 0) socket.unshift(this.bytes);
    return socket;
  }

  cut(): void {
    this.open.idle.delete(this);
    clearTimeout(this.timer);
    this.socket.destroy();
  }
}
