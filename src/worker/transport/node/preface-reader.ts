import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { PortTls, TlsTarget } from '../../../compile/index.ts';
import type { PairPaths } from '../../../contract/index.ts';
import type { ClientCertificate, NewConnection, ProxyProtocolFacts } from '../../../http/index.ts';
import type { Http2Rules } from '../../../plan/index.ts';
import { type Failing, guarded } from '../transport.ts';
import { type ClientHello, isTls, readClientHello } from './client-hello.ts';
import { beginsHttp2, Http2Connection } from '../http2/http2-connection.ts';
import { NodeConnection } from './node-connection.ts';
import type { NodePort } from './node-port.ts';
import { plainAddress, portFacts } from './socket-connection.ts';
import { HelloTlsFacts, SocketTlsFacts } from './tls-facts.ts';

/** The result of reading a PROXY protocol header: its content and length, `incomplete`, or that it is invalid. */
type ProxyPrefix = { readonly facts: ProxyProtocolFacts; readonly bytes: number } | 'incomplete' | 'broken';

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** The longest header of version 1, including its line end. */
const LONGEST_LINE = 107;
/** The longest accepted header of version 2. */
const LONGEST_BINARY = 4096;
const UNKNOWN: ProxyProtocolFacts = { address: '', port: 0, serverAddress: '', serverPort: 0, tlvs: [] };

/** Reads the header of the PROXY protocol, version 1 or 2 (haproxy.org/download/2.9/doc/proxy-protocol.txt). */
export function readProxyPrefix(bytes: Buffer): ProxyPrefix {
  const known = Math.min(bytes.length, SIGNATURE.length);
  if (SIGNATURE.subarray(0, known).equals(bytes.subarray(0, known))) {
    return known < SIGNATURE.length ? 'incomplete' : readBinary(bytes);
  }
  const text = bytes.toString('latin1', 0, LONGEST_LINE);
  if (!text.startsWith('PROXY '.slice(0, text.length))) return 'broken';
  const end = text.indexOf('\r\n');
  if (end < 0) return text.length < LONGEST_LINE ? 'incomplete' : 'broken';
  const facts = readLine(text.slice(0, end));
  return facts ? { facts, bytes: end + 2 } : 'broken';
}

function readLine(line: string): ProxyProtocolFacts | undefined {
  if (line.startsWith('PROXY UNKNOWN')) return UNKNOWN;
  const [, address = '', serverAddress = '', port = '', serverPort = ''] =
    /^PROXY (?:TCP4 (?=[\d.]+ [\d.]+ )|TCP6 (?=[\da-f:.]+ [\da-f:.]+ ))(\S+) (\S+) (\d{1,5}) (\d{1,5})$/i.exec(
      line,
    ) ?? [];
  const ports = [Number(port), Number(serverPort)] as const;
  if (address === '' || ports.some((number) => number > 65_535)) return undefined;
  return { address, port: ports[0], serverAddress, serverPort: ports[1], tlvs: [] };
}

function readBinary(bytes: Buffer): ProxyPrefix {
  if (bytes.length < 16) return 'incomplete';
  const command = bytes.readUInt8(12);
  const family = bytes.readUInt8(13) >> 4;
  const end = 16 + bytes.readUInt16BE(14);
  if (command >> 4 !== 2 || (command & 15) > 1 || end > LONGEST_BINARY) return 'broken';
  if (bytes.length < end) return 'incomplete';
  const body = bytes.subarray(16, end);
  // LOCAL: the proxy itself connects, for example for a health check. Other address families have no addresses.
  if ((command & 15) === 0 || (family !== 1 && family !== 2)) return { facts: UNKNOWN, bytes: end };
  const size = family === 1 ? 4 : 16;
  if (body.length < 2 * size + 4) return 'broken';
  const tlvs = readFields(body.subarray(2 * size + 4));
  if (!tlvs) return 'broken';
  const facts = {
    address: addressOf(body.subarray(0, size)),
    serverAddress: addressOf(body.subarray(size, 2 * size)),
    port: body.readUInt16BE(2 * size),
    serverPort: body.readUInt16BE(2 * size + 2),
    tlvs,
  };
  return { facts, bytes: end };
}

function readFields(bytes: Buffer): ProxyProtocolFacts['tlvs'] | undefined {
  const fields: { type: number; value: string }[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = at + 3 + (at + 3 <= bytes.length ? bytes.readUInt16BE(at + 1) : 0);
    if (end > bytes.length || at + 3 > bytes.length) return undefined;
    fields.push({ type: bytes.readUInt8(at), value: bytes.toString('latin1', at + 3, end) });
    at = end;
  }
  return fields;
}

function addressOf(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** Fatal alerts as records of TLS 1.2, by their description (RFC 5246, 7.2; RFC 6066, 3). */
const UNRECOGNIZED_NAME = Buffer.from([21, 3, 3, 0, 2, 2, 112]);
const INTERNAL_ERROR = Buffer.from([21, 3, 3, 0, 2, 2, 80]);

const NO_HELLO: ClientHello = {
  serverName: '',
  ciphers: [],
  curves: [],
  signatureAlgorithms: [],
  versions: [],
  tickets: [],
  protocols: [],
};

/** The only protocol that the handshake of a challenge offers (RFC 8737, 3). */
const CHALLENGE_PROTOCOL = 'acme-tls/1';

function isChallenge({ protocols }: ClientHello): boolean {
  return protocols.length === 1 && protocols[0] === CHALLENGE_PROTOCOL;
}

/** Events after which no more bytes arrive. */
const ENDINGS = ['end', 'error', 'close'] as const;
const ignore = (): void => undefined;

/** A name of a client for a log line. */
function shownName(name: string): string {
  return name.slice(0, 253).replaceAll(/[^\x21-\x7e]|"/g, '?');
}

function alert(socket: Socket, record: Buffer): void {
  socket.end(record, () => socket.destroy());
}

/**
 * Reads the first bytes of a connection before HTTP begins: the PROXY protocol header, then the TLS hello, which
 * determines the server. All other bytes are returned to the socket.
 */
export class PrefaceReader implements Failing {
  readonly #socket: Socket;
  readonly #open: NodePort;
  #bytes: Buffer = Buffer.alloc(0);
  /** The number of bytes that must have arrived before the hello is read again. */
  #wantedBytes = 0;
  #proxyProtocol: ProxyProtocolFacts | undefined = undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #receive = guarded(this, (bytes: Buffer) => {
    this.#open.heartbeat.beat();
    this.#open.idle.delete(this);
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    this.#look();
  });
  readonly #leave = guarded(this, () => this.cut());

  constructor(socket: Socket, open: NodePort) {
    this.#socket = socket;
    this.#open = open;
    this.#timer = setTimeout(this.#leave, open.current.port.head.timeoutMs);
    socket.on('data', this.#receive);
    for (const event of ENDINGS) socket.on(event, this.#leave);
    open.idle.add(this);
  }

  fail(error: unknown): void {
    this.#open.log.write('error', `a connection could not be accepted: ${String(error)}`);
    this.cut();
  }

  #look(): void {
    const { port } = this.#open.current;
    if (port.proxyProtocol && !this.#proxyProtocol && !this.#takeProxyPrefix()) return;
    if (this.#bytes.length === 0 && (port.tls || port.http2)) return;
    if (!port.tls && port.http2) return this.#lookForHttp2(port.http2);
    // A plain request on a TLS port gets a plain response: 497.
    if (!port.tls || !isTls(this.#bytes)) return this.#pass();
    if (this.#bytes.length < this.#wantedBytes) return;
    const hello = readClientHello(this.#bytes);
    if (typeof hello === 'number') this.#wantedBytes = hello;
    else this.#shakeHands(hello === 'unreadable' ? NO_HELLO : hello);
  }

  /** Returns true when the header is complete. */
  #takeProxyPrefix(): boolean {
    const prefix = readProxyPrefix(this.#bytes);
    if (prefix === 'incomplete') return false;
    if (prefix === 'broken') {
      const shown = this.#bytes.toString('latin1', 0, 32);
      this.#open.log.write('error', `broken header: "${shown}" while reading PROXY protocol`, {
        client: this.#socket.remoteAddress ?? '',
      });
      this.cut();
      return false;
    }
    this.#proxyProtocol = prefix.facts;
    this.#bytes = this.#bytes.subarray(prefix.bytes);
    return true;
  }

  #lookForHttp2(rules: Http2Rules): void {
    const isHttp2 = beginsHttp2(this.#bytes);
    if (isHttp2 === undefined) return undefined;
    if (!isHttp2) return this.#pass();
    const open = this.#open;
    const proxyProtocol = this.#proxyProtocol;
    const socket = this.#release();
    // eslint-disable-next-line no-new -- it lives as long as its socket
    new Http2Connection({ socket, open, facts: { proxyProtocol, tls: undefined } }, rules);
  }

  #pass(): void {
    const open = this.#open;
    const proxyProtocol = this.#proxyProtocol;
    const socket = this.#release();
    // eslint-disable-next-line no-new -- it lives as long as its socket
    new NodeConnection({ socket, open, facts: { proxyProtocol, tls: undefined } });
  }

  #shakeHands(hello: ClientHello): void {
    const { tls } = this.#open.current.port;
    const target = tls && this.#choose(tls, hello);
    if (!target) return this.cut();
    if (isChallenge(hello) && this.#showChallenge(target, hello)) return;
    if (target.plan.rejectHandshake) return alert(this.#release(), UNRECOGNIZED_NAME);
    const waiting = target.awaitPairs && this.#awaitPairs(target.awaitPairs, target, hello);
    if (!waiting) return this.#begin(tls, target, hello);
    // Nothing more is expected of the client, and nothing is read of it meanwhile.
    this.#socket.pause();
    const goOn = guarded(this, () => {
      if (!this.#socket.destroyed) this.#begin(tls, target, hello);
    });
    void waiting.catch((error: unknown) => this.#logFailure(error)).then(goOn);
  }

  /** Begins the handshake of a challenge (RFC 8737). Returns false if there is none for this name. */
  #showChallenge({ challengePair }: TlsTarget, { serverName }: ClientHello): boolean {
    const pair = challengePair?.(serverName.toLowerCase());
    if (!pair) return false;
    this.#open.tlsServers.showChallenge(pair, this.#release());
    return true;
  }

  #begin(tls: PortTls, target: TlsTarget, hello: ClientHello): void {
    const open = this.#open;
    const proxyProtocol = this.#proxyProtocol;
    const { head, http2 } = open.current.port;
    const named = this.#namePairs(target, hello);
    const pairs = named?.filter(({ certificate }) => certificate !== '');
    const socket = this.#release();
    if (!pairs) return alert(socket, INTERNAL_ERROR);
    if (named && pairs.length < named.length && pairs.length + target.plan.certificates.length === 0)
      return this.#refuse(socket, hello);
    const { namesServer } = target;
    const done = (secure: TLSSocket, client: ClientCertificate | undefined): void => {
      const opened = {
        socket: secure,
        plain: socket,
        open,
        facts: { proxyProtocol, tls: new SocketTlsFacts(secure, hello, { namesServer, client }) },
      };
      // eslint-disable-next-line no-new -- it lives as long as its socket
      if (http2 && secure.alpnProtocol === 'h2') new Http2Connection(opened, http2);
      // eslint-disable-next-line no-new -- so does this
      else new NodeConnection(opened);
    };
    const failed = (message: string, level: 'info' | 'error'): void => {
      open.log.write(level, `${message} while SSL handshaking`, { client: socket.remoteAddress ?? '' });
      // The TLS library has already told the client about a fault in a handshake that has begun.
      if (level === 'error') alert(socket, INTERNAL_ERROR);
      else socket.destroy();
    };
    return open.tlsServers.begin(target.plan, socket, {
      handshake: { done: guarded(this, done), failed: guarded(this, failed) },
      pairs,
      hello,
      http2: target.http2,
      ticketKey: tls.ticketKey,
      timeoutMs: head.timeoutMs,
    });
  }

  /** Ends a handshake for which there is no certificate. */
  #refuse(socket: Socket, { serverName }: ClientHello): void {
    const name = serverName === '' ? 'a client without SNI' : `"${shownName(serverName)}"`;
    const client = plainAddress(socket.remoteAddress);
    this.#open.log.write('info', `there is no certificate for ${name} yet while SSL handshaking`, { client });
    alert(socket, INTERNAL_ERROR);
  }

  /** Chooses the server by name; `undefined` if matching a regex server name took too long. */
  #choose(tls: PortTls, { serverName }: ClientHello): TlsTarget | undefined {
    try {
      return tls.choose(serverName.toLowerCase());
    } catch (error) {
      return this.#logFailure(error);
    }
  }

  /** Returns the names of the pairs to read; `undefined` if a variable failed. */
  #namePairs({ pairs, namesServer }: TlsTarget, hello: ClientHello): readonly PairPaths[] | undefined {
    if (!pairs) return [];
    try {
      return pairs(this.#connection(hello, namesServer));
    } catch (error) {
      return this.#logFailure(error);
    }
  }

  #awaitPairs(
    awaitPairs: NonNullable<TlsTarget['awaitPairs']>,
    { namesServer }: TlsTarget,
    hello: ClientHello,
  ): Promise<void> | undefined {
    try {
      return awaitPairs(this.#connection(hello, namesServer));
    } catch (error) {
      return this.#logFailure(error);
    }
  }

  /** What is known of the connection before its handshake. */
  #connection(hello: ClientHello, namesServer: boolean): NewConnection {
    const socket = this.#socket;
    return {
      peerAddress: plainAddress(socket.remoteAddress),
      peerPort: socket.remotePort ?? 0,
      port: portFacts(this.#open.current.port.facts, socket),
      facts: {
        requests: 0,
        startedMs: Date.now(),
        isPipelined: false,
        proxyProtocol: this.#proxyProtocol,
        tls: new HelloTlsFacts(hello, namesServer),
      },
    };
  }

  #logFailure(error: unknown): undefined {
    const client = this.#socket.remoteAddress ?? '';
    this.#open.log.write('error', `${(error as Error).message} while SSL handshaking`, { client });
  }

  /** Returns the socket after giving all unused bytes back to it. */
  #release(): Socket {
    const socket = this.#socket;
    clearTimeout(this.#timer);
    socket.off('data', this.#receive);
    // Without a listener, Node turns an error of the socket into an exception.
    socket.on('error', ignore);
    for (const event of ENDINGS) socket.off(event, this.#leave);
    socket.pause();
    if (this.#bytes.length > 0) socket.unshift(this.#bytes);
    return socket;
  }

  cut(): void {
    this.#open.idle.delete(this);
    clearTimeout(this.#timer);
    this.#socket.destroy();
  }
}
