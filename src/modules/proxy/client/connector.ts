import type { Socket } from 'node:net';
import { checkServerIdentity, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import { type Stage, systemFault, timedOut, UpstreamFault } from './fault.ts';

/** OpenSSL's numbers and words for what Node.js names by a code. */
const VERIFY_ERRORS: Readonly<Record<string, string>> = {
  UNABLE_TO_GET_ISSUER_CERT: '2:unable to get issuer certificate',
  UNABLE_TO_GET_CRL: '3:unable to get certificate CRL',
  CERT_SIGNATURE_FAILURE: '7:certificate signature failure',
  CERT_NOT_YET_VALID: '9:certificate is not yet valid',
  CERT_HAS_EXPIRED: '10:certificate has expired',
  CRL_HAS_EXPIRED: '12:CRL has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: '18:self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: '19:self-signed certificate in certificate chain',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: '20:unable to get local issuer certificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: '21:unable to verify the first certificate',
  CERT_CHAIN_TOO_LONG: '22:certificate chain too long',
  CERT_REVOKED: '23:certificate revoked',
  INVALID_CA: '24:invalid CA certificate',
  INVALID_PURPOSE: '26:unsupported certificate purpose',
};

const STAGE = 'while SSL handshaking to upstream';

/** `proxy_ssl_verify`: whether a peer's certificate has a chain to a trusted one, short enough, and the right name. */
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
  const words = VERIFY_ERRORS[code] ?? `1:${code}`;
  return new UpstreamFault('error', `upstream SSL certificate verify error: (${words}) ${STAGE}`);
}

/** Certificates between the peer's own and the trusted root, as OpenSSL counts its depth. */
function intermediatesOf(leaf: DetailedPeerCertificate): number {
  let count = 0;
  for (
    let at = leaf.issuerCertificate;
    at && at.issuerCertificate && at.issuerCertificate !== at;
    at = at.issuerCertificate
  ) {
    count++;
  }
  return count;
}

type BuildConnector = typeof buildConnector;
type Dial = ReturnType<BuildConnector>;

/** What all connections to the peers of one group have in common; plain data. */
export interface ConnectorSettings {
  readonly localAddress?: string;
  readonly tcpKeepalive: boolean;
  readonly tls?: TlsSettings;
}

/** `proxy_ssl_*`; files are read by now. */
export interface TlsSettings {
  readonly ca?: string;
  readonly crl?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly passphrases: readonly string[];
  readonly ciphers: string;
  readonly minVersion: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  readonly maxVersion: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  readonly ciphersuites?: string;
  readonly groups?: string;
  readonly verify: boolean;
  readonly verifyDepth: number;
  readonly reuseSessions: boolean;
}

/** Where a connection goes. */
export interface Destination {
  /** `127.0.0.1:8080`, `[::1]:8080` or `unix:/path`. */
  readonly address: string;
  readonly timeoutMs: number;
  /** The name that the peer's certificate must have (`proxy_ssl_name`); only over TLS. */
  readonly name: string;
  /** Whether the name goes out in the handshake (`proxy_ssl_server_name`). */
  readonly sendsName: boolean;
}

/** What became of a connection attempt. */
export interface Dialled {
  opened(socket: Socket): void;
  refused(fault: UpstreamFault): void;
}

/** More dial functions than this are forgotten and made again: addresses of a resolver come and go. */
const MAX_DIALS = 256;

/** Opens connections with undici's connector: TCP, Unix sockets, TLS with its session cache. */
export class Connector {
  readonly settings: ConnectorSettings;
  private readonly build: BuildConnector;
  private readonly dials = new Map<string, Dial>();

  constructor(settings: ConnectorSettings, build: BuildConnector) {
    this.settings = settings;
    this.build = build;
  }

  /** Gives a function that gives up. Neither of `dialled` is called after that. */
  open(to: Destination, dialled: Dialled): () => void {
    const attempt = new Attempt(to, dialled, this.settings.tls);
    try {
      // undici's types do not say that its connector gives the socket it opens.
      const dial = this.dialOf(to.address) as unknown as (options: object, done: DialDone) => Socket;
      attempt.follow(dial(this.optionsOf(to), (error, socket) => attempt.settle(error, socket)));
    } catch (error) {
      // For example a local address of the wrong family.
      queueMicrotask(() => attempt.settle(error as Error, null));
    }
    return () => attempt.cancel();
  }

  private optionsOf({ address, name, sendsName }: Destination): object {
    const { host, port } = splitAddress(address);
    return {
      hostname: host,
      port,
      protocol: this.settings.tls ? 'https:' : 'http:',
      ...(sendsName && { servername: name }),
      ...(this.settings.localAddress !== undefined && { localAddress: this.settings.localAddress }),
    };
  }

  private dialOf(address: string): Dial {
    const known = this.dials.get(address);
    if (known) return known;
    const { tcpKeepalive, tls } = this.settings;
    const dial = this.build({
      timeout: 0,
      keepAlive: tcpKeepalive,
      ...(address.startsWith('unix:') && { socketPath: address.slice(5) }),
      ...(tls && tlsOptions(tls)),
    });
    if (this.dials.size >= MAX_DIALS) this.dials.clear();
    this.dials.set(address, dial);
    return dial;
  }
}

type DialDone = (error: Error | null, socket: Socket | null) => void;

/** The peer's certificate is judged when the handshake is over, so that the log can say what was wrong with it. */
function tlsOptions(tls: TlsSettings): object {
  const { ca, crl, cert, key, passphrases, ciphers, ciphersuites, groups, minVersion, maxVersion } = tls;
  const [passphrase] = passphrases;
  return {
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
    // What a session was begun with is judged once; a session that is resumed would not show its chain again.
    maxCachedSessions: tls.reuseSessions && !tls.verify ? 100 : 0,
    ciphers: ciphersuites === undefined ? ciphers : `${ciphersuites}:${ciphers}`,
    minVersion,
    maxVersion,
    ...(ca !== undefined && { ca }),
    ...(crl !== undefined && { crl }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(passphrase !== undefined && { passphrase }),
    ...(groups !== undefined && { ecdhCurve: groups }),
  };
}

function splitAddress(address: string): { host: string; port: string } {
  if (address.startsWith('unix:')) return { host: 'localhost', port: '0' };
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon);
  return { host: host.startsWith('[') ? host.slice(1, -1) : host, port: address.slice(colon + 1) };
}

/** One connection while it is opened. */
class Attempt {
  private readonly dialled: Dialled;
  private readonly tls: TlsSettings | undefined;
  private readonly name: string;
  private readonly timer: NodeJS.Timeout;
  private stage: Stage = 'connecting to upstream';
  private socket: Socket | undefined = undefined;
  private settled = false;

  constructor({ timeoutMs, name }: Destination, dialled: Dialled, tls: TlsSettings | undefined) {
    this.dialled = dialled;
    this.tls = tls;
    this.name = name;
    this.timer = setTimeout(() => this.refuse(timedOut(this.stage)), timeoutMs);
  }

  follow(socket: Socket): void {
    this.socket = socket;
    if (this.tls) socket.once('connect', () => (this.stage = 'SSL handshaking to upstream'));
  }

  settle(error: Error | null, socket: Socket | null): void {
    if (this.settled) return;
    if (error || !socket) return this.refuse(this.faultOf(error ?? new Error('no socket')));
    const fault = this.tls?.verify
      ? checkPeerCertificate(socket as TLSSocket, this.name, this.tls)
      : undefined;
    if (fault) return this.refuse(fault);
    this.settled = true;
    clearTimeout(this.timer);
    this.dialled.opened(socket);
  }

  cancel(): void {
    this.settled = true;
    clearTimeout(this.timer);
    this.socket?.destroy();
  }

  private refuse(fault: UpstreamFault): void {
    if (this.settled) return;
    this.cancel();
    this.dialled.refused(fault);
  }

  private faultOf(error: Error & { readonly code?: string }): UpstreamFault {
    if (this.stage === 'connecting to upstream') return systemFault(error, this.stage);
    if (error.code === 'ECONNRESET') {
      return new UpstreamFault('error', `peer closed connection in SSL handshake while ${this.stage}`);
    }
    return new UpstreamFault(
      'error',
      `SSL_do_handshake() failed (SSL: ${error.message.trim()}) while ${this.stage}`,
    );
  }
}
