import { createHash, hkdfSync } from 'node:crypto';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { secureContextOptions, type TlsPlan } from '../../../plan/index.ts';
import { CertificateStatus } from './certificate-status.ts';
import { ChosenCertificates } from './chosen-certificates.ts';

/** The sessions of clients without tickets; when it is full, the oldest are dropped. Each worker has its own. */
class TlsSessions {
  readonly #sessions = new Map<string, { readonly session: Buffer; readonly endsMs: number }>();

  keep(
    id: Buffer,
    session: Buffer,
    { most, timeoutSeconds }: { most: number; timeoutSeconds: number },
  ): void {
    this.#sessions.set(id.toString('latin1'), { session, endsMs: Date.now() + timeoutSeconds * 1000 });
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size <= most) return;
      this.#sessions.delete(oldest);
    }
  }

  find(id: Buffer): Buffer | null {
    const known = this.#sessions.get(id.toString('latin1'));
    return known && known.endsMs > Date.now() ? known.session : null;
  }
}

/** Receives the result of a handshake. */
interface Handshake {
  /** `socket` is the encrypted socket; `statusFault` says what is wrong with the status of the client's certificates. */
  done(socket: TLSSocket, statusFault?: string): void;
  failed(message: string, level: 'info' | 'error'): void;
}

/** Settings of a handshake that are not in the plan. */
interface HandshakeRules {
  /** Offers HTTP/2 to the client. */
  readonly http2: boolean;
  readonly ticketKey: string;
  readonly timeoutMs: number;
  /** As the client sent it; '' if it sent none. */
  readonly serverName: string;
}

type GiveStaple = (error: Error | null, response: Buffer | null) => void;

const HTTP_1: readonly string[] = ['http/1.1', 'http/1.0', 'http/0.9'];

/** One `tls.Server` per TLS plan, with and without HTTP/2. None of them listens; they get connections whose first bytes have been read. */
export class TlsServers {
  readonly #byPlan = { http1: new WeakMap<TlsPlan, Server>(), http2: new WeakMap<TlsPlan, Server>() };
  readonly #caches = new Map<string, TlsSessions>();
  readonly #handshakes = new WeakMap<object, Handshake>();
  readonly #chosen = new ChosenCertificates();
  readonly #status: CertificateStatus;
  /** The period of the ticket keys of each server. */
  readonly #ticketPeriods = new WeakMap<Server, number>();

  /** `note` writes to the error log. */
  constructor(note: (message: string) => void) {
    this.#status = new CertificateStatus(note);
  }

  /** Begins a handshake on a paused plain socket; bytes already read must have been given back to it. */
  begin(
    plan: TlsPlan,
    socket: object,
    { handshake, ...rules }: HandshakeRules & { handshake: Handshake },
  ): void {
    this.#handshakes.set(socket, handshake);
    if (plan.chosen.length === 0) return void this.#serverOf(plan, rules).emit('connection', socket);
    try {
      this.#serverOf(this.#chosen.plan(plan, rules.serverName), rules).emit('connection', socket);
    } catch (error) {
      handshake.failed((error as Error).message, 'error');
    }
  }

  #serverOf(plan: TlsPlan, rules: HandshakeRules): Server {
    const servers = this.#byPlan[rules.http2 ? 'http2' : 'http1'];
    const known = servers.get(plan);
    if (known) {
      this.#renewTicketKeys(known, plan, rules);
      return known;
    }
    const server = createServer({
      ...secureContextOptions(plan),
      ALPNProtocols: rules.http2 ? ['h2', ...HTTP_1] : [...HTTP_1],
      requestCert: plan.verify !== 'off',
      rejectUnauthorized: false,
      handshakeTimeout: rules.timeoutMs,
      ticketKeys: Buffer.from(plan.ticketKey ?? rules.ticketKey, 'base64'),
      // A session is only valid with the same certificates, because it includes the verification of its client.
      sessionIdContext: fingerprintOf(plan),
    });
    server.on('secureConnection', (secure) => {
      const handshake = this.#handshakeOf(secure);
      if (!handshake) secure.destroy();
      else if (plan.ocsp) void this.#askStatus(secure, plan, handshake);
      else handshake.done(secure);
    });
    this.#staple(server, plan);
    server.on('tlsClientError', ({ message }, secure) =>
      this.#handshakeOf(secure)?.failed(`SSL_do_handshake() failed (SSL: ${message})`, 'info'),
    );
    if (typeof plan.sessionCache !== 'string') this.#keepSessions(server, plan, plan.sessionCache);
    servers.set(plan, server);
    this.#renewTicketKeys(server, plan, rules);
    return server;
  }

  /** Staples the response of a file, or the one of a responder. */
  #staple(server: Server, plan: TlsPlan): void {
    const { staple, stapling } = plan;
    if (staple === undefined && !stapling) return;
    server.on('OCSPRequest', (certificate: Buffer, issuer: Buffer | null, done: GiveStaple) => {
      if (staple !== undefined) return done(null, Buffer.from(staple, 'base64'));
      return void this.#askStaple(plan, [certificate, issuer], done);
    });
  }

  async #askStaple(
    plan: TlsPlan,
    [certificate, issuer]: readonly [Buffer, Buffer | null],
    done: GiveStaple,
  ): Promise<void> {
    // Without a response the handshake goes on.
    const der = await this.#status.stapleFor(plan, certificate, issuer).catch(() => null);
    done(null, der);
  }

  /** Requests wait for the status of the client's certificates. */
  async #askStatus(secure: TLSSocket, plan: TlsPlan, handshake: Handshake): Promise<void> {
    const ignore = (): void => undefined;
    secure.on('error', ignore);
    const fault = await this.#status.faultOf(secure, plan);
    if (secure.destroyed) return;
    handshake.done(secure, fault);
    secure.off('error', ignore);
  }

  /** As in nginx, keys that no file gives change with each `ssl_session_timeout` where there is a shared cache. */
  #renewTicketKeys(server: Server, plan: TlsPlan, { ticketKey }: HandshakeRules): void {
    const { sessionCache, sessionTimeoutSeconds } = plan;
    const isShared = typeof sessionCache !== 'string' && sessionCache.name !== '';
    if (plan.ticketKey !== undefined || !isShared || sessionTimeoutSeconds === 0) return;
    const period = Math.floor(Date.now() / 1000 / sessionTimeoutSeconds);
    if (this.#ticketPeriods.get(server) === period) return;
    this.#ticketPeriods.set(server, period);
    // All workers derive the same keys without asking one another.
    const secret = Buffer.from(ticketKey, 'base64');
    const salt = String(sessionTimeoutSeconds);
    server.setTicketKeys(Buffer.from(hkdfSync('sha256', secret, salt, String(period), secret.length)));
  }

  /** This old undocumented property is the only way to find the plain socket under a TLS socket. */
  #handshakeOf(secure: TLSSocket): Handshake | undefined {
    const { _parent: socket } = secure as { _parent?: object };
    return socket && this.#handshakes.get(socket);
  }

  #keepSessions(
    server: Server,
    { sessionTimeoutSeconds: timeoutSeconds }: TlsPlan,
    { name, sessions: most }: { readonly name: string; readonly sessions: number },
  ): void {
    const cache = (name === '' ? undefined : this.#caches.get(name)) ?? new TlsSessions();
    if (name !== '') this.#caches.set(name, cache);
    server.on('newSession', (id: Buffer, session: Buffer, done: () => void) => {
      cache.keep(id, session, { most, timeoutSeconds });
      done();
    });
    server.on('resumeSession', (id: Buffer, done: (error: Error | null, session: Buffer | null) => void) =>
      done(null, cache.find(id)),
    );
  }
}

function fingerprintOf({ certificates, authorities }: TlsPlan): string {
  const hash = createHash('sha256');
  for (const pem of [...certificates, ...authorities]) hash.update(pem);
  return hash.digest('hex').slice(0, 32);
}
