import { createHash } from 'node:crypto';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { secureContextOptions, type TlsPlan } from '../../../plan/index.ts';

/** The sessions of clients without tickets; the oldest make room. Each worker keeps its own. */
class TlsSessions {
  private readonly sessions = new Map<string, { readonly session: Buffer; readonly endsMs: number }>();

  keep(
    id: Buffer,
    session: Buffer,
    { most, timeoutSeconds }: { most: number; timeoutSeconds: number },
  ): void {
    this.sessions.set(id.toString('latin1'), { session, endsMs: Date.now() + timeoutSeconds * 1000 });
    for (const oldest of this.sessions.keys()) {
      if (this.sessions.size <= most) return;
      this.sessions.delete(oldest);
    }
  }

  find(id: Buffer): Buffer | null {
    const known = this.sessions.get(id.toString('latin1'));
    return known && known.endsMs > Date.now() ? known.session : null;
  }
}

/** What comes of a handshake. */
interface Handshake {
  /** The socket that it went over. */
  done(socket: TLSSocket): void;
  failed(error: Error): void;
}

/** How a server shakes hands beside its plan. */
interface HandshakeRules {
  readonly ticketKey: string;
  readonly timeoutMs: number;
}

/** One `tls.Server` per plan of a server, none of which listens: they are handed connections that were looked at before. */
export class TlsServers {
  private readonly byPlan = new WeakMap<TlsPlan, Server>();
  private readonly caches = new Map<string, TlsSessions>();
  private readonly handshakes = new WeakMap<object, Handshake>();

  /** Begins a handshake on a plain socket that is paused; what was read of it has been given back. */
  begin(
    plan: TlsPlan,
    socket: object,
    { handshake, ...rules }: HandshakeRules & { handshake: Handshake },
  ): void {
    this.handshakes.set(socket, handshake);
    this.serverOf(plan, rules).emit('connection', socket);
  }

  private serverOf(plan: TlsPlan, rules: HandshakeRules): Server {
    const known = this.byPlan.get(plan);
    if (known) return known;
    const server = createServer({
      ...secureContextOptions(plan),
      ALPNProtocols: ['http/1.1', 'http/1.0', 'http/0.9'],
      requestCert: plan.verify !== 'off',
      rejectUnauthorized: false,
      handshakeTimeout: rules.timeoutMs,
      ticketKeys: Buffer.from(plan.ticketKey ?? rules.ticketKey, 'base64'),
      // A session is good only where the same certificates are: it would carry its client's verification elsewhere.
      sessionIdContext: fingerprintOf(plan),
    });
    server.on('secureConnection', (secure) => {
      const handshake = this.handshakeOf(secure);
      if (handshake) handshake.done(secure);
      else secure.destroy();
    });
    server.on('tlsClientError', (error, secure) => this.handshakeOf(secure)?.failed(error));
    if (typeof plan.sessionCache !== 'string') this.keepSessions(server, plan, plan.sessionCache);
    this.byPlan.set(plan, server);
    return server;
  }

  /** node:tls does not tell which socket a secure one was made of but by this property, old as it is. */
  private handshakeOf(secure: TLSSocket): Handshake | undefined {
    const { _parent: socket } = secure as { _parent?: object };
    return socket && this.handshakes.get(socket);
  }

  private keepSessions(
    server: Server,
    { sessionTimeoutSeconds: timeoutSeconds }: TlsPlan,
    { name, sessions: most }: { readonly name: string; readonly sessions: number },
  ): void {
    const cache = (name === '' ? undefined : this.caches.get(name)) ?? new TlsSessions();
    if (name !== '') this.caches.set(name, cache);
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
